module hanse/tests/conformance

go 1.26.0
