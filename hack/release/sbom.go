// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/mod/module"
)

// document is what of SPDX 2.3 is needed to list the modules of a Go program.
type document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []component    `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type component struct {
	SPDXID           string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo"`
	FileName         string      `json:"packageFileName,omitempty"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	Checksums        []checksum  `json:"checksums,omitempty"`
	SourceInfo       string      `json:"sourceInfo,omitempty"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	CopyrightText    string      `json:"copyrightText"`
	ExternalRefs     []reference `json:"externalRefs"`
	PrimaryPurpose   string      `json:"primaryPackagePurpose"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

// sbom returns the SBOM of a Go program in SPDX JSON. It lists what the linker has recorded in the program, not what go.mod says.
func sbom(path string, built source) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(program)
	name := filepath.Base(path)
	own := goModule("SPDXRef-Program", info.Main.Path, built.version, "")
	own.FileName, own.PrimaryPurpose = name, "APPLICATION"
	own.DownloadLocation = "git+" + repositoryURL + "@" + strings.TrimSuffix(built.commit, "-dirty")
	own.Checksums = []checksum{{"SHA256", hex.EncodeToString(sum[:])}}
	own.LicenseConcluded, own.LicenseDeclared = "Apache-2.0", "Apache-2.0"
	d := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", Name: name + " " + built.version,
		DocumentNamespace: repositoryURL + "/spdx/" + name + "-" + hex.EncodeToString(sum[:]),
		CreationInfo:      creation{built.date.Format(time.RFC3339), []string{"Organization: devicequota", "Tool: hack/release-" + built.version}},
		Packages:          []component{own},
		Relationships:     []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", own.SPDXID}},
	}
	for i, dependency := range components(info) {
		dependency.SPDXID = fmt.Sprintf("SPDXRef-Module-%d", i+1)
		d.Packages = append(d.Packages, dependency)
		d.Relationships = append(d.Relationships, relationship{own.SPDXID, "CONTAINS", dependency.SPDXID})
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

// components returns Go's standard library and the modules that the program contains packages of.
func components(info *debug.BuildInfo) []component {
	standard := goModule("", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")
	standard.DownloadLocation = "https://go.dev/dl/"
	standard.ExternalRefs[0].Locator = "pkg:golang/stdlib@" + standard.Version
	all := []component{standard}
	for _, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		all = append(all, goModule("", dependency.Path, dependency.Version, dependency.Sum))
	}
	return all
}

// download returns where the module proxy has a module. It does not distinguish upper and lower case, so that capitals are escaped.
func download(path, version string) string {
	escapedPath, err := module.EscapePath(path)
	if err != nil {
		return noAssertion
	}
	escapedVersion, err := module.EscapeVersion(version)
	if err != nil {
		return noAssertion
	}
	return "https://proxy.golang.org/" + escapedPath + "/@v/" + escapedVersion + ".zip"
}

// goModule describes a module. The sum is the one of go.sum, which is not the checksum of a file.
func goModule(id, path, version, sum string) component {
	c := component{
		SPDXID: id, Name: path, Version: version, DownloadLocation: download(path, version),
		LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, CopyrightText: noAssertion, PrimaryPurpose: "LIBRARY",
		ExternalRefs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")}},
	}
	if sum != "" {
		c.SourceInfo = "go.sum " + sum
	}
	return c
}
