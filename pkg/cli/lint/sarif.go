// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/devicequota/devicequota/pkg/lint"
)

// These types are the part of SARIF 2.1.0 that lint writes.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifRule struct {
		ID                   string     `json:"id"`
		ShortDescription     sarifText  `json:"shortDescription"`
		Help                 sarifText  `json:"help"`
		DefaultConfiguration sarifLevel `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level lint.Severity `json:"level"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     lint.Severity   `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	// sarifLocation always has a physical location, even for an object without a file, because GitHub refuses a log without it.
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// writeSARIF writes the report for code scanning. The severities of lint are the levels of SARIF.
func writeSARIF(w io.Writer, r *report) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "kubectl-devicequota", InformationURI: "https://github.com/devicequota/devicequota/blob/main/docs/lint.md"}
	for _, rule := range lint.Rules {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.ID, sarifText{rule.Short}, sarifText{rule.Help}, sarifLevel{rule.Severity}})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		location := sarifLocation{Logical: []sarifLogical{{FullyQualifiedName: f.Object.String(), Kind: "object"}}}
		location.Physical.Artifact.URI, location.Physical.Region.StartLine = f.Object.String(), 1
		if f.File != "" {
			location.Physical.Artifact.URI, location.Physical.Region.StartLine = uriOf(f.File), f.Line
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, RuleIndex: slices.IndexFunc(lint.Rules, func(rule lint.Rule) bool { return rule.ID == f.Rule }),
			Level: f.Severity, Message: sarifText{f.Message}, Locations: []sarifLocation{location},
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// uriOf returns a reference to a file. It is relative if the file is below the working folder, because code scanning looks for it in the repository.
func uriOf(file string) string {
	if file == "-" {
		return "stdin"
	}
	path, err := filepath.Abs(file)
	if err != nil {
		path = file
	}
	if folder, err := os.Getwd(); err == nil {
		if below, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(below) {
			return (&url.URL{Path: filepath.ToSlash(below)}).String()
		}
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
