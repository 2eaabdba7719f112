// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"golang.org/x/mod/module"
)

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
	own := goModule("Program", info.Main.Path, built.version, "")
	own.PackageFileName, own.PrimaryPackagePurpose = name, "APPLICATION"
	own.PackageDownloadLocation = "git+" + repositoryURL + "@" + strings.TrimSuffix(built.commit, "-dirty")
	own.PackageChecksums = []spdx.Checksum{{Algorithm: spdx.SHA256, Value: hex.EncodeToString(sum[:])}}
	own.PackageLicenseConcluded, own.PackageLicenseDeclared = "Apache-2.0", "Apache-2.0"
	d := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name + " " + built.version,
		DocumentNamespace: repositoryURL + "/spdx/" + name + "-" + hex.EncodeToString(sum[:]),
		CreationInfo: &spdx.CreationInfo{Created: built.date.Format(time.RFC3339), Creators: []spdx.Creator{
			{CreatorType: "Organization", Creator: "devicequota"}, {CreatorType: "Tool", Creator: "hack/release-" + built.version},
		}},
		Packages:      []*spdx.Package{own},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", "DESCRIBES", own.PackageSPDXIdentifier)},
	}
	for i, dependency := range components(info) {
		dependency.PackageSPDXIdentifier = spdx.ElementID(fmt.Sprintf("Module-%d", i+1))
		d.Packages = append(d.Packages, dependency)
		d.Relationships = append(d.Relationships, relation(own.PackageSPDXIdentifier, "CONTAINS", dependency.PackageSPDXIdentifier))
	}
	var text bytes.Buffer
	err = json.Write(d, &text, json.Indent("  "))
	return text.Bytes(), err
}

func relation(of spdx.ElementID, kind string, to spdx.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: spdx.DocElementID{ElementRefID: of}, Relationship: kind, RefB: spdx.DocElementID{ElementRefID: to}}
}

// components returns Go's standard library and the modules in the program.
func components(info *debug.BuildInfo) []*spdx.Package {
	standard := goModule("", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")
	standard.PackageDownloadLocation = "https://go.dev/dl/"
	standard.PackageExternalReferences[0].Locator = "pkg:golang/stdlib@" + standard.PackageVersion
	all := []*spdx.Package{standard}
	for _, dependency := range info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		all = append(all, goModule("", dependency.Path, dependency.Version, dependency.Sum))
	}
	return all
}

// download returns the address of a module at the module proxy. The proxy is case-insensitive, so capitals are escaped.
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

// goModule describes a module. The sum is the hash in go.sum, which is not the checksum of a file.
func goModule(id spdx.ElementID, path, version, sum string) *spdx.Package {
	p := &spdx.Package{
		PackageSPDXIdentifier: id, PackageName: path, PackageVersion: version, PackageDownloadLocation: download(path, version),
		PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion, PrimaryPackagePurpose: "LIBRARY",
		PackageExternalReferences: []*spdx.PackageExternalReference{
			{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")},
		},
	}
	if sum != "" {
		p.PackageSourceInfo = "go.sum " + sum
	}
	return p
}
