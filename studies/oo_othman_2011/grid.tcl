# the grid of 25: two pairs of nodes leave and come back
$node_(0) set X_ 250.0000
$node_(0) set Y_ 250.0000
$node_(0) set Z_ 0.0000
$node_(1) set X_ 345.0000
$node_(1) set Y_ 250.0000
$node_(1) set Z_ 0.0000
$node_(2) set X_ 440.0000
$node_(2) set Y_ 250.0000
$node_(2) set Z_ 0.0000
$node_(3) set X_ 535.0000
$node_(3) set Y_ 250.0000
$node_(3) set Z_ 0.0000
$node_(4) set X_ 630.0000
$node_(4) set Y_ 250.0000
$node_(4) set Z_ 0.0000
$node_(5) set X_ 250.0000
$node_(5) set Y_ 345.0000
$node_(5) set Z_ 0.0000
$node_(6) set X_ 345.0000
$node_(6) set Y_ 345.0000
$node_(6) set Z_ 0.0000
$node_(7) set X_ 440.0000
$node_(7) set Y_ 345.0000
$node_(7) set Z_ 0.0000
$node_(8) set X_ 535.0000
$node_(8) set Y_ 345.0000
$node_(8) set Z_ 0.0000
$node_(9) set X_ 630.0000
$node_(9) set Y_ 345.0000
$node_(9) set Z_ 0.0000
$node_(10) set X_ 250.0000
$node_(10) set Y_ 440.0000
$node_(10) set Z_ 0.0000
$node_(11) set X_ 345.0000
$node_(11) set Y_ 440.0000
$node_(11) set Z_ 0.0000
$node_(12) set X_ 440.0000
$node_(12) set Y_ 440.0000
$node_(12) set Z_ 0.0000
$node_(13) set X_ 535.0000
$node_(13) set Y_ 440.0000
$node_(13) set Z_ 0.0000
$node_(14) set X_ 630.0000
$node_(14) set Y_ 440.0000
$node_(14) set Z_ 0.0000
$node_(15) set X_ 250.0000
$node_(15) set Y_ 535.0000
$node_(15) set Z_ 0.0000
$node_(16) set X_ 345.0000
$node_(16) set Y_ 535.0000
$node_(16) set Z_ 0.0000
$node_(17) set X_ 440.0000
$node_(17) set Y_ 535.0000
$node_(17) set Z_ 0.0000
$node_(18) set X_ 535.0000
$node_(18) set Y_ 535.0000
$node_(18) set Z_ 0.0000
$node_(19) set X_ 630.0000
$node_(19) set Y_ 535.0000
$node_(19) set Z_ 0.0000
$node_(20) set X_ 250.0000
$node_(20) set Y_ 630.0000
$node_(20) set Z_ 0.0000
$node_(21) set X_ 345.0000
$node_(21) set Y_ 630.0000
$node_(21) set Z_ 0.0000
$node_(22) set X_ 440.0000
$node_(22) set Y_ 630.0000
$node_(22) set Z_ 0.0000
$node_(23) set X_ 535.0000
$node_(23) set Y_ 630.0000
$node_(23) set Z_ 0.0000
$node_(24) set X_ 630.0000
$node_(24) set Y_ 630.0000
$node_(24) set Z_ 0.0000
$ns_ at 20.0 "$node_(8) setdest 345.0000 345.0000 10.0000"
$ns_ at 20.0 "$node_(9) setdest 440.0000 345.0000 10.0000"
$ns_ at 100.0 "$node_(18) setdest 345.0000 535.0000 10.0000"
$ns_ at 100.0 "$node_(19) setdest 440.0000 535.0000 10.0000"
$ns_ at 241.0 "$node_(8) setdest 535.0000 345.0000 10.0000"
$ns_ at 241.0 "$node_(9) setdest 630.0000 345.0000 10.0000"
$ns_ at 281.0 "$node_(18) setdest 535.0000 535.0000 10.0000"
$ns_ at 281.0 "$node_(19) setdest 630.0000 535.0000 10.0000"
