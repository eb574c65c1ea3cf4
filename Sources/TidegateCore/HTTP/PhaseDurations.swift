/// How long the phases of an attempt took; a phase that was not run (a reused connection has no connect) is nil.
package struct PhaseDurations: Sendable, Hashable {
    /// The phases, as blackbox_exporter names them.
    package enum Phase: String, Sendable, MetricLabel {
        case resolve, connect, tls, processing, transfer
    }

    /// From the question to the resolver's answer.
    package var resolve: Duration?
    /// From the first SYN to the connection.
    package var connect: Duration?
    /// The TLS handshake.
    package var tls: Duration?
    /// From the request to the first byte of the answer.
    package var processing: Duration?
    /// From the first byte of the answer to the last.
    package var transfer: Duration?

    /// From the request to the last byte of its body, which is a part of ``processing``; nil without a body.
    package var sending: Duration?

    /// No phase took place.
    package init() {}

    /// The duration of one phase.
    package subscript(phase: Phase) -> Duration? {
        switch phase {
        case .resolve: self.resolve
        case .connect: self.connect
        case .tls: self.tls
        case .processing: self.processing
        case .transfer: self.transfer
        }
    }

    var checkJSON: JSONValue {
        [
            "connect": .seconds(self.connect), "tls": .seconds(self.tls), "response": .seconds(self.processing),
        ]
    }
}

/// The stages of one request, in the order it passes through them.
package enum Stage: Sendable, CaseIterable, Comparable {
    /// The name's addresses are looked up.
    case resolve
    /// A TCP connection is made.
    case connect
    /// The TLS handshake.
    case tls
    /// The request is sent.
    case request
    /// The response's head is awaited and read.
    case response
    /// The response's body is read.
    case body

    /// The rung that a failure in it belongs to.
    package var rung: Rung {
        switch self {
        case .resolve, .connect: .tcp
        case .tls: .tls
        case .request, .response, .body: .http
        }
    }
}
