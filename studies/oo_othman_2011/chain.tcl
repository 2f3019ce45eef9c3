# the chain of six: two nodes leave and come back
$node_(0) set X_ 250.0000
$node_(0) set Y_ 250.0000
$node_(0) set Z_ 0.0000
$node_(1) set X_ 360.0000
$node_(1) set Y_ 250.0000
$node_(1) set Z_ 0.0000
$node_(2) set X_ 470.0000
$node_(2) set Y_ 250.0000
$node_(2) set Z_ 0.0000
$node_(3) set X_ 580.0000
$node_(3) set Y_ 250.0000
$node_(3) set Z_ 0.0000
$node_(4) set X_ 690.0000
$node_(4) set Y_ 250.0000
$node_(4) set Z_ 0.0000
$node_(5) set X_ 800.0000
$node_(5) set Y_ 250.0000
$node_(5) set Z_ 0.0000
$ns_ at 50.0 "$node_(2) setdest 470.0000 650.0000 10.0000"
$ns_ at 100.0 "$node_(3) setdest 580.0000 650.0000 10.0000"
$ns_ at 250.0 "$node_(2) setdest 470.0000 250.0000 10.0000"
$ns_ at 250.0 "$node_(3) setdest 580.0000 250.0000 10.0000"
