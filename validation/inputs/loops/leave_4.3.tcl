# a chain of four, 200 m apart, whose last node leaves at 4.3 s
$node_(0) set X_ 100.0000
$node_(0) set Y_ 500.0000
$node_(0) set Z_ 0.0000
$node_(1) set X_ 300.0000
$node_(1) set Y_ 500.0000
$node_(1) set Z_ 0.0000
$node_(2) set X_ 500.0000
$node_(2) set Y_ 500.0000
$node_(2) set Z_ 0.0000
$node_(3) set X_ 700.0000
$node_(3) set Y_ 500.0000
$node_(3) set Z_ 0.0000
$ns_ at 4.3 "$node_(3) setdest 4900.0000 500.0000 2000.0000"
