# Two requests with their answers over ns-2.35's FullTcp, on a wire: when each answer is written and when its last byte
# has come.
#
#     ns full_tcp.tcl RATE DELAY REQUEST ANSWER     (bit/s, s, bytes, bytes)
lassign $argv rate delay request answer
set ns [new Simulator]
set client_node [$ns node]
set server_node [$ns node]
$ns duplex-link $client_node $server_node $rate $delay DropTail
$ns queue-limit $client_node $server_node 10000
$ns queue-limit $server_node $client_node 10000
foreach {name node} [list client $client_node server $server_node] {
  set agent [new Agent/TCP/FullTcp]
  foreach {key value} {window_ 700 windowInit_ 10 segsize_ 1448 packetSize_ 1448 segsperack_ 1} { $agent set $key $value }
  $ns attach-agent $node $agent
  set $name $agent
}
$server listen
$ns connect $client $server
set asking [new Application/TcpApp $client]
set answering [new Application/TcpApp $server]
$asking connect $answering
set page 0
proc ask {} { $::asking send $::request "$::answering reply" }
Application/TcpApp instproc reply {} {
  set ::written [$::ns now]
  $::answering send $::answer "$::asking done"
}
Application/TcpApp instproc done {} {
  puts "$::rate,$::delay,$::request,$::answer,[incr ::page],[format %.9f [expr {[$::ns now] - $::written}]]"
  if {$::page < 2} ask else { $::ns after 0.5 "exit 0" }
}
$ns at 0.0 ask
$ns run
