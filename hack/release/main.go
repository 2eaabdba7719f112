// SPDX-License-Identifier: Apache-2.0

// Command release makes the parts of a release from programs that are built already: images, archives, SBOMs, and the manifest for krew. It
// needs no container engine. Equal programs give equal bytes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// source describes the sources of the programs.
type source struct {
	version string
	commit  string
	date    time.Time
	// licence is the text of the project's licence.
	licence []byte
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to make: images, archives, or notes")
	}
	flags := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	version := flags.String("version", "", "version of the release, such as v0.1.0")
	commit := flags.String("commit", "", "Git commit that the programs were built from")
	date := flags.String("date", "", "date of the commit, in RFC 3339")
	licence := flags.String("licence", "LICENSE", "file with the licence")
	binaries := flags.String("binaries", "", "folder with a folder of programs for each platform, such as linux-amd64")
	platforms := flags.String("platforms", "", "platforms, such as 'linux/amd64 linux/arm64'")
	out := flags.String("out", "", "folder to write to")
	repository := flags.String("repository", "ghcr.io/devicequota", "where the images belong")
	push := flags.Bool("push", false, "push the images to the repository")
	downloads := flags.String("downloads", "https://github.com/devicequota/devicequota/releases/download", "where the archives of a version can be downloaded from, without the version")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if args[0] == "notes" {
		return writeNotes(os.Stdout, os.Stdin, *version)
	}
	built, err := readSource(*version, *commit, *date, *licence)
	if err != nil {
		return err
	}
	wanted, err := readPlatforms(*platforms)
	if err != nil {
		return err
	}
	switch args[0] {
	case "images":
		return makeImages(imageOptions{source: built, binaries: *binaries, platforms: wanted, out: *out, repository: *repository, push: *push}, flags.Args())
	case "archives":
		return makeArchives(built, *binaries, wanted, *out, *downloads)
	}
	return fmt.Errorf("%s cannot be made: images, archives, and notes can", args[0])
}

func readSource(version, commit, date, licence string) (source, error) {
	if version == "" || commit == "" {
		return source{}, errors.New("-version and -commit are needed")
	}
	when, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return source{}, fmt.Errorf("-date: %w", err)
	}
	text, err := os.ReadFile(licence)
	if err != nil {
		return source{}, fmt.Errorf("-licence: %w", err)
	}
	return source{version: version, commit: commit, date: when.UTC(), licence: text}, nil
}

func readPlatforms(text string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for _, name := range strings.Fields(text) {
		system, architecture, found := strings.Cut(name, "/")
		if !found || system == "" || architecture == "" || strings.Contains(architecture, "/") {
			return nil, fmt.Errorf("-platforms: %s is not a platform, such as linux/amd64", name)
		}
		platforms = append(platforms, v1.Platform{OS: system, Architecture: architecture})
	}
	if len(platforms) == 0 {
		return nil, errors.New("-platforms is needed")
	}
	return platforms, nil
}
