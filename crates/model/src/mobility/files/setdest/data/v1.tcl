#
# nodes: 3, pause: 2.00, max speed: 20.00, max x: 670.00, max y: 670.00
#
$node_(0) set X_ 171.262852883123
$node_(0) set Y_ 463.942454529468
$node_(0) set Z_ 0.000000000000
$node_(1) set X_ 486.797817394590
$node_(1) set Y_ 51.307343666425
$node_(1) set Z_ 0.000000000000
$node_(2) set X_ 566.553821943979
$node_(2) set Y_ 182.455976749967
$node_(2) set Z_ 0.000000000000
$god_ set-dist 0 1 16777215
$god_ set-dist 0 2 16777215
$god_ set-dist 1 2 1
$ns_ at 2.000000000000 "$node_(0) setdest 319.076434282562 308.175705492158 3.302178789594"
$ns_ at 2.000000000000 "$node_(1) setdest 620.063430523312 480.197148795940 19.895920012694"
$ns_ at 2.000000000000 "$node_(2) setdest 10.794466600113 647.776963177046 8.795243191861"
$ns_ at 21.703844038711 "$god_ set-dist 0 1 2"
$ns_ at 21.703844038711 "$god_ set-dist 0 2 1"
$ns_ at 23.638060527217 "$god_ set-dist 0 1 16777215"
$ns_ at 23.638060527217 "$god_ set-dist 1 2 16777215"
$ns_ at 24.573327644496 "$node_(1) setdest 620.063430523312 480.197148795940 0.000000000000"
$ns_ at 26.573327644496 "$node_(1) setdest 127.579166145638 179.790697886251 15.549268283473"
$ns_ at 28.151255990877 "$god_ set-dist 0 1 2"
$ns_ at 28.151255990877 "$god_ set-dist 1 2 1"
#
# Destination Unreachables: 4
#
# Route Changes: 6
#
# Link Changes: 3
#
# Node | Route Changes | Link Changes
#    0 |             4 |            1
#    1 |             5 |            2
#    2 |             3 |            3
#
