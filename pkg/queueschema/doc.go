// SPDX-License-Identifier: Apache-2.0

// Package queueschema finds out whether the API server serves the field spec.dra of queues. An upgrade of Volcano can replace the Queue CRD by one without
// the field. Then quotas of devices cannot be read, and any write of a queue drops them. The package also makes an informer that reads the quotas again when
// the field is back.
package queueschema
