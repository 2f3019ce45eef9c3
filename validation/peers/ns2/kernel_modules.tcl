# One loss, as the Linux modules in ns-2.35 answer it: S --10Mb/2ms-- R --0.8Mb/100ms-- D.
# usage: ns kernel_modules.tcl module=westwood window=30 lost=300 out=FILE stop=25
# The trace names cwnd_ and ssthresh_ at each change.
array set opt {module westwood window 30 lost 300 out out.tr stop 25}
foreach argument $argv { regexp {^([^=]+)=(.*)$} $argument -> key value; set opt($key) $value }
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ $opt(window)
Agent/TCP set windowInit_ 2
Agent/TCP set timestamps_ true
set ns [new Simulator]
set trace [open $opt(out) w]
foreach node {s r d} { set $node [$ns node] }
$ns duplex-link $s $r 10Mb 2ms DropTail
$ns duplex-link $r $d 0.8Mb 100ms DropTail
foreach {from to} [list $s $r $r $d $d $r $r $s] { $ns queue-limit $from $to 1000 }
set tcp [new Agent/TCP/Linux]
$ns at 0 "$tcp select_ca $opt(module)"
set sink [new Agent/TCPSink/Sack1]
$sink set ts_echo_rfc1323_ true
$ns attach-agent $s $tcp
$ns attach-agent $d $sink
$ns connect $tcp $sink
set errors [new ErrorModel/List]
$errors unit pkt
$errors droplist [list $opt(lost)]
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $r $d
$tcp attach $trace
foreach variable {cwnd_ ssthresh_} { $tcp trace $variable }
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
$ns at $opt(stop) "$ns flush-trace; close $trace; exit 0"
$ns run
