# A queue with RED in front of a link of 1.5 Mb/s, which gets more than it carries: mean delay and drops by the trace.
#
#   ns red.tcl LOAD SEED
#   awk '$1=="+"{t[$12]=$2} $1=="r"{n++; d+=$2-t[$12]} $1=="d"{k++} END{print n, k, 1000*d/n}' out.tr
set load [lindex $argv 0]
ns-random [lindex $argv 1]
set ns [new Simulator]
set f [open out.tr w]
$ns trace-all $f
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 1.5Mb 10ms RED
$ns simplex-link $b $a 1.5Mb 10ms DropTail
set udp [new Agent/UDP]
$udp set packetSize_ 1000
$ns attach-agent $a $udp
set null [new Agent/Null]
$ns attach-agent $b $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr attach-agent $udp
$cbr set packetSize_ 1000
$cbr set interval_ [expr 8000.0 / (1.5e6 * $load)]
$ns at 1.0 "$cbr start"
$ns at 201.0 "$cbr stop"
$ns at 203.0 "finish"
proc finish {} { global ns f; $ns flush-trace; close $f; exit 0 }
$ns run
