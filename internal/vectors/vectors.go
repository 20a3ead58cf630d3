// Package vectors is a script of the ways out that the web platform offers to a
// page: fetch and its relatives, elements, style, frames, forms, popups, workers
// of all kinds, WebSocket, EventSource, WebTransport, WebRTC, hints and
// speculation.
//
// It tries nothing by itself: the hostile page of the tests and the probes of
// the seal choose from its tables.
package vectors

import _ "embed"

// Script is JavaScript that defines the tables vectors and udpVectors; its first
// lines say how to use them.
//
//go:embed vectors.js
var Script string
