int odd;   // BAD: a folder in no row
