# A host that moves between the cells of a home agent and a foreign agent, for ns-2.35: the first network of Nashiry et
# al. ("TCP over Mobile IP"), as studies/nashiry/a.toml has it.
#
# Usage: ns mobile_ip.tcl -option value ...   (the options and their defaults stand below)
#
# A TCP sender at the host sends to a correspondent on the wires. All that is counted comes from the trace.

array set setting {
    -variant       Newreno
    -acking        every
    -speed         15
    -start         10
    -stop          150
    -seed          1
    -trace         /dev/null
    -mac-trace     OFF
}
# -variant     a sender of ns-2's, such as Newreno, Vegas or Sack1
# -acking      every or delayed
# -speed       of the host in m/s; 0 to stay at the edge of the home agent's cell
# -start       when the transfer and the motion begin, s
foreach {name value} $argv {
    if {![info exists setting($name)]} { error "unknown option $name; known: [lsort [array names setting]]" }
    set setting($name) $value
}
proc option {name} { global setting; return $setting(-$name) }

ns-random [option seed]
set ns [new Simulator]
$ns set-address-format hierarchical
AddrParams set domain_num_ 3
AddrParams set cluster_num_ {2 1 1}
AddrParams set nodes_num_ {1 1 2 1}
set trace [open [option trace] w]
$ns trace-all $trace

set area [new Topography]
$area load_flatgrid 2000 2000
create-god 3
Mac/802_11 set dataRate_ 1Mb
Mac/802_11 set basicRate_ 1Mb
Mac/802_11 set RTSThreshold_ 0

proc place {node x y} {
    $node random-motion 0
    $node set X_ $x
    $node set Y_ $y
    $node set Z_ 0
}
set correspondent [$ns node 0.0.0]
set router [$ns node 0.1.0]
$ns node-config -mobileIP ON -wiredRouting ON -adhocRouting DSDV -llType LL -macType Mac/802_11 \
    -ifqType Queue/DropTail/PriQueue -ifqLen 50 -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround \
    -phyType Phy/WirelessPhy -channel [new Channel/WirelessChannel] -topoInstance $area \
    -agentTrace ON -routerTrace ON -macTrace [option mac-trace]
set home [$ns node 1.0.0]
place $home 200 300
set foreign [$ns node 2.0.0]
place $foreign 500 300
$ns node-config -wiredRouting OFF
set host [$ns node 1.0.1]
place $host 50 100
set home_address [AddrParams addr2id [$home node-addr]]
[$host set regagent_] set home_agent_ $home_address
$host base-station $home_address
foreach other [list $correspondent $home $foreign] { $ns duplex-link $router $other 5Mb 2ms DropTail }

# To the other end and back, with a pause of 1 s at each.
if {[option speed] > 0} {
    set to 650
    for {set at [option start]} {$at < [option stop]} {set at [expr {$at + 600.0 / [option speed] + 1}]} {
        $ns at $at "$host setdest $to 100 [option speed]"
        set to [expr {700 - $to}]
    }
}

set tcp [new Agent/TCP/[option variant]]
$tcp set packetSize_ 1000
$tcp set window_ 20
set sinks(every,Sack1) Agent/TCPSink/Sack1
set sinks(delayed,Sack1) Agent/TCPSink/Sack1/DelAck
set kind [expr {[option variant] eq "Sack1" ? "Sack1" : "other"}]
set sinks(every,other) Agent/TCPSink
set sinks(delayed,other) Agent/TCPSink/DelAck
set sink [new $sinks([option acking],$kind)]
$ns attach-agent $host $tcp
$ns attach-agent $correspondent $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at [option start] "$ftp start"
$ns at [option stop] "$ns halt"
$ns run
close $trace
