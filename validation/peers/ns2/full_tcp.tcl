# A client and a server over a wire, with data both ways in one connection of FullTcp (ns-2.35): pages of a main object
# and its parts, and then the end of the connection.
#
# Usage: ns full_tcp.tcl -option value ...   (the options and their defaults stand below)
#
# The trace holds the queue events of the wire in both directions with the headers of TCP.

array set setting {
    -rate          1e6
    -delay         0.01
    -request       300
    -answer        10000
    -parts         0
    -pipelining    1
    -pages         2
    -restart       1
    -minrto        0.2
    -clientdrops   {}
    -serverdrops   {}
    -trace         ""
}
# -rate         of the wire, bit/s
# -delay        of the wire, seconds
# -request      size of each request, bytes
# -answer       size of each answer, bytes
# -parts        how many more objects a page has
# -pipelining   how many requests for parts may be unanswered
# -pages        how many pages are asked for, one after the other
# -restart      1: the initial window again after a pause
# -minrto       least retransmission timeout, seconds
# -clientdrops  places, counted from 0, of the segments of the client that vanish before the wire
# -serverdrops  the same of the server
# -trace        file to write

foreach {name value} $argv {
    if {![info exists setting($name)]} {
        puts stderr "full_tcp.tcl: unknown option $name; known: [lsort [array names setting]]"
        exit 2
    }
    set setting($name) $value
}

Trace set show_tcphdr_ 1
set sim [new Simulator]
$sim trace-all [open $setting(-trace) w]
set nodes [list [$sim node] [$sim node]]
foreach {client_node server_node} $nodes {}
$sim duplex-link $client_node $server_node $setting(-rate) $setting(-delay) DropTail
foreach {from to places} [list \
        $client_node $server_node $setting(-clientdrops) $server_node $client_node $setting(-serverdrops)] {
    $sim queue-limit $from $to 10000
    if {[llength $places] > 0} {
        set losses [new ErrorModel/List]
        $losses droplist $places
        $losses drop-target [new Agent/Null]
        $sim lossmodel $losses $from $to
    }
}
foreach {name node} [list client $client_node server $server_node] {
    set agent [new Agent/TCP/FullTcp]
    foreach {key value} {window_ 700 windowInit_ 10 segsize_ 1448 packetSize_ 1448 segsperack_ 1} {
        $agent set $key $value
    }
    $agent set slow_start_restart_ $setting(-restart)
    $agent set minrto_ $setting(-minrto)
    $sim attach-agent $node $agent
    set $name $agent
}
$server listen
$sim connect $client $server
set asking [new Application/TcpApp $client]
set answering [new Application/TcpApp $server]
$asking connect $answering

# The objects of the page that are not asked for, and those that are not answered.
set unasked 0
set unanswered 0
set page 0

proc ask {} {
    incr ::unanswered
    $::asking send $::setting(-request) "$::answering reply"
}
proc ask_page {} {
    set ::unasked $::setting(-parts)
    ask
}
Application/TcpApp instproc reply {} { $::answering send $::setting(-answer) "$::asking answered" }
Application/TcpApp instproc answered {} {
    incr ::unanswered -1
    while {$::unasked > 0 && $::unanswered < $::setting(-pipelining)} {
        incr ::unasked -1
        ask
    }
    if {$::unanswered == 0} {
        if {[incr ::page] < $::setting(-pages)} { ask_page } else { $::client close }
    }
}
# Each end calls this when it is closed.
set closed 0
Agent/TCP/FullTcp instproc done {} { if {[incr ::closed] == 2} { $::sim after 1 "exit 0" } }

$sim at 0.0 ask_page
$sim run
