module admission

go 1.26
