// SPDX-License-Identifier: Apache-2.0

package v1beta1

// CardQuotaAnnotation on a Queue is the maximum number of cards of each name that the queue may use: a JSON
// object of card names and whole numbers, such as {"NVIDIA-H200": 8}.
const CardQuotaAnnotation = "volcano.sh/card.quota"
