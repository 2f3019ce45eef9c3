# Any ad hoc 802.11 scenario of the comparison, for ns-2.35.
#
# Usage: ns adhoc.tcl -option value ...   (the options and their defaults stand below)
#
# When the run ends one line a flow goes to standard output:
#     flow ID KIND SOURCE DESTINATION key value ...
# Everything else is in the trace, if one is asked for.

array set setting {
    -positions     {}
    -movement      ""
    -nodes         0
    -width         2000
    -height        2000
    -flows         {}
    -traffic       ""
    -routing       AODV
    -variant       Newreno
    -payload       512
    -window        20
    -interval      0.01
    -jitter        1
    -rate          1Mb
    -basic         1Mb
    -rts           1
    -range         250
    -sense         550
    -reach         near
    -queue         50
    -seed          1
    -measure       0
    -stop          360
    -trace         ""
    -mac-trace     OFF
}
# -positions   "x y x y ..." in metres, one pair a node
# -movement    file of setdest commands, which also places the nodes; needs -nodes
# -nodes       number of nodes, where -movement places them
# -width, -height   the area, metres
# -flows       "kind source destination start stop ...", five words a flow; kind is tcp or cbr
# -traffic     file with one flow a line, same five words
# -routing     AODV, DSDV, AOMDV, DSR, or DumbAgent (one hop, no routing)
# -variant     Tahoe, Reno, Newreno, Sack1, Vegas, or Linux/NAME: Agent/TCP/Linux with a congestion control of Linux
# -payload     TCP segment or UDP datagram payload, bytes
# -window      TCP receiver window, packets
# -interval    CBR: mean time between datagrams, seconds
# -jitter      CBR: 1: each interval up to half longer or shorter; 0: all the same
# -rate, -basic     802.11 data rate and basic rate
# -rts         1: RTS/CTS before every unicast frame; 0: never
# -range, -sense    reception and carrier sense range, metres (two-ray ground)
# -reach       near: as ns-2 is; all: the channel gives every frame to every node's interface
# -queue       interface queue, packets
# -measure     CBR: datagrams are counted from this time on
# -trace       file for the trace; empty: no trace at all
# -mac-trace   ON: the trace also has every MAC frame and MAC drop

foreach {name value} $argv {
    if {![info exists setting($name)]} {
        puts stderr "adhoc.tcl: unknown option $name; known: [lsort [array names setting]]"
        exit 2
    }
    set setting($name) $value
}

# Power received at a distance: two-ray ground with ns-2's default transmitter (281.8 mW)
# and antennas (gain 1, height 1.5 m). Good beyond the crossover distance, 86 m.
proc received_power {distance} {
    return [expr {0.28183815 * pow(1.5, 4) / pow($distance, 4)}]
}

Phy/WirelessPhy set RXThresh_ [received_power $setting(-range)]
Phy/WirelessPhy set CSThresh_ [received_power $setting(-sense)]
Phy/WirelessPhy set CPThresh_ 10.0
Mac/802_11 set dataRate_  $setting(-rate)
Mac/802_11 set basicRate_ $setting(-basic)
Mac/802_11 set RTSThreshold_ [expr {$setting(-rts) ? 0 : 100000}]
Agent/TCP set packetSize_ $setting(-payload)
Agent/TCP set window_     $setting(-window)
Agent/UDP set packetSize_ 65000

ns-random $setting(-seed)
set sim [new Simulator]
if {$setting(-trace) ne ""} {
    set trace [open $setting(-trace) w]
    $sim trace-all $trace
    set packet_trace ON
} else {
    # Drop traces are made for every node whatever node-config says; without a trace file
    # their maker only complains, once a node, so the null agent stands in for them.
    set packet_trace OFF
    Node/MobileNode instproc mobility-trace {args} {
        return [[Simulator instance] nullagent]
    }
    proc cmu-trace {args} {
        return [[Simulator instance] nullagent]
    }
}

if {$setting(-movement) eq ""} {
    set node_count [expr {[llength $setting(-positions)] / 2}]
} else {
    set node_count $setting(-nodes)
}
set area [new Topography]
$area load_flatgrid $setting(-width) $setting(-height)
# Movement files may speak to this object by this name.
set god_ [create-god $node_count]
# ns-2's DSR works with this queue alone.
set queue [expr {$setting(-routing) eq "DSR" ? "CMUPriQueue" : "Queue/DropTail/PriQueue"}]
$sim node-config -adhocRouting $setting(-routing) -llType LL -macType Mac/802_11 \
    -ifqType $queue -ifqLen $setting(-queue) \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] \
    -topoInstance $area -agentTrace $packet_trace -routerTrace $packet_trace \
    -macTrace $setting(-mac-trace) -movementTrace OFF
for {set i 0} {$i < $node_count} {incr i} {
    # Movement files use the names node_ and ns_.
    set node_($i) [$sim node]
    $node_($i) random-motion 0
}
set ns_ $sim
if {$setting(-movement) ne ""} {
    source $setting(-movement)
} else {
    set i 0
    foreach {x y} $setting(-positions) {
        $node_($i) set X_ [expr {double($x)}]
        $node_($i) set Y_ [expr {double($y)}]
        $node_($i) set Z_ 0.0
        incr i
    }
}

proc make_sender {variant} {
    if {$variant eq "Tahoe"} {
        return [new Agent/TCP]
    }
    if {[regexp {^Linux/(.+)$} $variant -> control]} {
        set sender [new Agent/TCP/Linux]
        $sender set timestamps_ true
        [Simulator instance] at 0 "$sender select_ca $control"
        return $sender
    }
    return [new Agent/TCP/$variant]
}

proc make_sink {variant} {
    if {$variant eq "Sack1" || [string match Linux/* $variant]} {
        set sink [new Agent/TCPSink/Sack1]
        # The echoed time is that of the segment that moves the window (RFC 1323).
        $sink set ts_echo_rfc1323_ [string match Linux/* $variant]
        return $sink
    }
    return [new Agent/TCPSink]
}

if {$setting(-traffic) ne ""} {
    set file [open $setting(-traffic)]
    foreach line [split [read $file] "\n"] {
        foreach word $line {
            lappend setting(-flows) $word
        }
    }
    close $file
}
set flows {}
foreach {kind source destination start stop} $setting(-flows) {
    if {$kind eq "tcp"} {
        set sender [make_sender $setting(-variant)]
        set sink [make_sink $setting(-variant)]
        set application [new Application/FTP]
    } else {
        set sender [new Agent/UDP]
        set sink [new Agent/LossMonitor]
        set application [new Application/Traffic/CBR]
        # ns-2 adds no UDP and IP header of its own: 28 bytes.
        $application set packetSize_ [expr {$setting(-payload) + 28}]
        $application set interval_ $setting(-interval)
        $application set random_ $setting(-jitter)
    }
    $sim attach-agent $node_($source) $sender
    $sim attach-agent $node_($destination) $sink
    $sim connect $sender $sink
    $application attach-agent $sender
    $sim at $start "$application start"
    if {$stop < $setting(-stop)} {
        $sim at $stop "$application stop"
    }
    lappend flows [list $kind $source $destination $sender $sink]
}

# The channel gives a frame only to interfaces in a square around the sender. Its size follows from the carrier sense
# threshold of the interface that is the first to send; afterwards nothing changes it. The first sender has its own threshold
# back while it still sends its first frame, so that nothing else of the run differs, and no random number.
if {$setting(-reach) eq "all"} {
    set order {}
    foreach {kind source destination start stop} $setting(-flows) {
        lappend order [list $start $source]
    }
    foreach {start source} [lindex [lsort -real -index 0 $order] 0] {}
    set interface [$node_($source) set netif_(0)]
    set sense [$interface set CSThresh_]
    $interface set CSThresh_ 1e-30
    $sim at [expr {$start + 0.0008}] "$interface set CSThresh_ $sense"
}

# Datagrams that each CBR flow had delivered when measuring began.
proc begin_measuring {} {
    global flows before
    set id 0
    foreach flow $flows {
        if {[lindex $flow 0] eq "cbr"} {
            set before($id) [[lindex $flow 4] set npkts_]
        }
        incr id
    }
}

proc finish {} {
    global sim trace flows before
    set id 0
    foreach flow $flows {
        foreach {kind source destination sender sink} $flow {}
        if {$kind eq "tcp"} {
            # ack_ is the highest packet acknowledged; packet 0 is the SYN.
            set result [list timeouts [$sender set nrexmit_] highest_ack [$sender set ack_] \
                sink_bytes [$sink set bytes_]]
        } else {
            set result [list packets [expr {[$sink set npkts_] - $before($id)}]]
        }
        puts "flow $id $kind $source $destination $result"
        incr id
    }
    if {[info exists trace]} {
        $sim flush-trace
        close $trace
    }
    exit 0
}

$sim at $setting(-measure) "begin_measuring"
# What is still queued at the end is traced as dropped (reason END).
for {set i 0} {$i < $node_count} {incr i} {
    $sim at $setting(-stop) "$node_($i) reset"
}
$sim at [expr {$setting(-stop) + 0.0001}] "finish"
$sim run
