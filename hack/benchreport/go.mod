module github.com/devicequota/devicequota/hack/benchreport

go 1.25.0

tool golang.org/x/perf/cmd/benchstat

require golang.org/x/perf v0.0.0-20250305200902-02a15fd477ba

require github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
