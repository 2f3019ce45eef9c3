# A host that moves to and fro between two agents of Mobile IP that hear each other, for ns-2.35. Just after it has left
# the foreign agent, that agent's DSDV knows it by way of the home agent, whose binding still leads to the foreign agent.
#
# Usage: ns mobile_ip_loop.tcl -option value ...   (the options and their defaults stand below)

array set setting {
    -stop          300
    -seed          1
    -trace         /dev/null
}
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
    -agentTrace ON -routerTrace ON -macTrace OFF
set home [$ns node 1.0.0]
place $home 500 300
set foreign [$ns node 2.0.0]
place $foreign 700 300
$ns node-config -wiredRouting OFF
set host [$ns node 1.0.1]
place $host 800 300
set home_address [AddrParams addr2id [$home node-addr]]
[$host set regagent_] set home_agent_ $home_address
$host base-station $home_address
foreach other [list $correspondent $home $foreign] { $ns duplex-link $router $other 5Mb 2ms DropTail }

# 400 m in 1 s, and a pause.
set to 400
for {set at 5.0} {$at < [option stop]} {set at [expr {$at + 4.3}]} {
    $ns at $at "$host setdest $to 300 400"
    set to [expr {1200 - $to}]
}

set udp [new Agent/UDP]
set sink [new Agent/Null]
$ns attach-agent $correspondent $udp
$ns attach-agent $host $sink
$ns connect $udp $sink
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 200
$cbr set interval_ 0.1
$cbr attach-agent $udp
$ns at 1 "$cbr start"
$ns at [option stop] "$ns halt"
$ns run
close $trace
