module driver

go 1.19

require pawl v0.0.0

replace pawl => ../../../clients/go
