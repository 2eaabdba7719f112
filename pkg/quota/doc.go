// SPDX-License-Identifier: Apache-2.0

// Package quota turns Queue objects into limits of the ledger: spec.dra into limits of devices
// ([Devices]), and the annotations volcano.sh/card.quota, volcano.sh/card.deserved, and volcano.sh/card.guarantee
// into limits of cards ([Cards]). It reads one queue at a time; the tree of queues is up to the caller.
package quota
