module weft.example/peers/go

go 1.24
