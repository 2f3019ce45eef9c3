# One bulk TCP transfer over a wired bottleneck that loses chosen packets or acknowledgements (ns-2.35).
#
#     S --- 10 Mb/s, 2 ms --- R --- 0.8 Mb/s, 100 ms --- D
#
# Usage: ns wired.tcl -option value ...   (the options and their defaults stand below)
#
# The trace holds the queue events of the first link in both directions and every change of
# cwnd_, ssthresh_ and dupacks_ at the sender, in the order in which they happened.
# When the run ends one line "flow key value ..." goes to standard output.

array set setting {
    -variant       Newreno
    -drops         {}
    -ackdrops      {}
    -delayed       0
    -payload       1000
    -window        100
    -initial       1
    -limited       0
    -syn           0
    -minrto        1.0
    -impatient     1
    -stop          6.0
    -trace         ""
}
# -variant     Tahoe, Reno, Newreno, Sack1 or Vegas
# -drops       places, counted from 0, of the packets that the bottleneck loses
# -ackdrops    the same of the acknowledgements on their way back
# -delayed     1: the receiver delays acknowledgements (not with Sack1)
# -payload     payload of a segment, bytes
# -window      the receiver's window, packets
# -initial     initial congestion window, packets
# -limited     1: a new segment for each of the first two duplicate ACKs (RFC 3042)
# -syn         1: the first packet is a 40-byte SYN with sequence number 0
# -minrto      least retransmission timeout, seconds
# -impatient   NewReno: 1 restarts the retransmission timer only at the first partial ACK
# -stop        end of the run, seconds
# -trace       file to write

foreach {name value} $argv {
    if {![info exists setting($name)]} {
        puts stderr "wired.tcl: unknown option $name; known: [lsort [array names setting]]"
        exit 2
    }
    set setting($name) $value
}

Agent/TCP set packetSize_   $setting(-payload)
Agent/TCP set window_       $setting(-window)
Agent/TCP set windowInit_   $setting(-initial)
Agent/TCP set singledup_    $setting(-limited)
Agent/TCP set syn_          $setting(-syn)
Agent/TCP set delay_growth_ $setting(-syn)
Agent/TCP set minrto_       $setting(-minrto)
Agent/TCP/Newreno set newreno_changes1_ $setting(-impatient)

set sim   [new Simulator]
set trace [open $setting(-trace) w]
set S [$sim node]
set R [$sim node]
set D [$sim node]
$sim duplex-link $S $R 10Mb  2ms   DropTail
$sim duplex-link $R $D 0.8Mb 100ms DropTail
# No queue may overflow: every loss is one that was asked for.
foreach {from to} [list $S $R $R $S $R $D $D $R] {
    $sim queue-limit $from $to 1000
}
$sim trace-queue $S $R $trace
$sim trace-queue $R $S $trace

foreach {option from to} [list -drops $R $D -ackdrops $D $R] {
    if {[llength $setting($option)] > 0} {
        set loss [new ErrorModel/List]
        $loss unit pkt
        $loss droplist $setting($option)
        $loss drop-target [new Agent/Null]
        $sim lossmodel $loss $from $to
    }
}

if {$setting(-variant) eq "Tahoe"} {
    set sender [new Agent/TCP]
} else {
    set sender [new Agent/TCP/$setting(-variant)]
}
if {$setting(-variant) eq "Sack1"} {
    set sink [new Agent/TCPSink/Sack1]
} elseif {$setting(-delayed)} {
    set sink [new Agent/TCPSink/DelAck]
} else {
    set sink [new Agent/TCPSink]
}
$sim attach-agent $S $sender
$sim attach-agent $D $sink
$sim connect $sender $sink
$sender attach $trace
foreach variable {cwnd_ ssthresh_ dupacks_} {
    $sender trace $variable
}
set transfer [new Application/FTP]
$transfer attach-agent $sender

proc finish {} {
    global sim trace sender
    $sim flush-trace
    close $trace
    puts "flow timeouts [$sender set nrexmit_] highest_ack [$sender set ack_]"
    exit 0
}
$sim at 0.0 "$transfer start"
$sim at $setting(-stop) "finish"
$sim run
