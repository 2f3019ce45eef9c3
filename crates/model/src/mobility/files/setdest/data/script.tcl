# Commands that replace one another, stop, come twice at a time, and lines in no order.
$ns_ at 30.0 "$node_(0) setdest 10.5 20.25 7.5"
$ns at 0.0 "$node_(0) setdest 400.0 100.0 10.0"   ;# on its way ...
$ns_ at 10.0 {$node_(0) setdest 100.0 250.0 12.0}
$ns_ at 20.0 "$node_(0) setdest 100.0 250.0 0.0"
$node_(1) set X_ 50
$node_(1) set Y_ 50
$node_(1) set Z_ 0
$node_(0) set X_ 100.0
$node_(0) set Y_ 100.0
$node_(0) set Z_ 0.0
$node_(1) setdest 51.0 250.0 4.0
$ns_ at 25.0 " $node_(1) setdest 200.0 50.0 3.0 "
$ns_ at 25.0 "$node_(1) setdest 450.0 290.0 19.5";
$god_ set-dist 0 1 2
$ns_ at 12.5 "$god_ set-dist 0 1 1"
