// SPDX-License-Identifier: Apache-2.0

// Package upstream runs Volcano's own tests of the capacity plugin against this project's plugin. The tests
// are not copied: they are read from the module cache, and only the constructor of the plugin is replaced.
package upstream
