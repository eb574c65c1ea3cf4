/// The result for one rung of the ladder.
public struct RungReport: Sendable, Hashable {
    /// A rung's state.
    public enum Status: String, Sendable, MetricLabel {
        /// It holds.
        case ok
        /// It fails.
        case bad
        /// It was not checked, or the findings do not decide.
        case unknown
        /// It does not exist on this path: a tunnel has no gateway.
        case notApplicable
    }

    /// How a rung's state is known.
    public enum Basis: String, Sendable, CaseIterable, Hashable {
        /// It was measured directly.
        case measured
        /// A higher rung works, which is impossible without it.
        case implied
    }

    /// The rung.
    public var rung: Rung
    /// Its state.
    public var status: Status
    /// How its state is known; nil if it is not: the rung was not checked, or does not exist.
    public var basis: Basis?
    /// Why it fails; nil if it does not.
    public var reason: UnreachableReason?
    /// The name of the link that the reason is about; nil if it is about none.
    package var link: String?
    /// The findings, one clause each; for a failed rung the first names the problem.
    public var evidence: [String]
    /// The same as numbers, if any.
    package var values = RungValues()

    /// A report from its parts; ok and bad rungs were measured, unless `basis` says otherwise.
    package init(
        rung: Rung, status: Status, reason: UnreachableReason? = nil, link: String? = nil, basis: Basis? = nil,
        evidence: [String] = [], duration: Duration? = nil
    ) {
        self.rung = rung
        self.status = status
        self.basis = basis ?? (status == .ok || status == .bad ? .measured : nil)
        (self.reason, self.link, self.evidence) = (reason, link, evidence)
        self.values.duration = duration
    }

    var json: JSONValue {
        let members: [JSONValue.Member] = [
            .init("rung", .string(self.rung.rawValue)), .init("status", .string(self.status.rawValue)),
            .init("reason", .optional(self.reason?.rawValue)), .init("evidence", .texts(self.evidence)),
            .init("basis", .optional(self.basis?.rawValue)), .init("ageSeconds", .optional(self.values.age?.inSeconds)),
        ]
        return .object(members + self.values.members)
    }
}

/// The numbers and codes behind a rung's evidence.
package struct RungValues: Sendable, Hashable {
    /// How long it took: a connection, a handshake, the first byte, an answer of the gateway's.
    package var duration: Duration?
    /// How old the evidence is; nil if it was found just now.
    package var age: Duration?
    /// The status of an HTTP response.
    package var status: Int?
    /// The ICMP error that came.
    package var refusal: ICMPError?
    /// The certificate that the server showed.
    package var certificate: CertificateSummary?
    /// The routers that answered a hop walk, by the hop limit that reached them.
    package var hops: [Hop] = []

    /// A router that answered a packet whose hop limit ended there.
    package struct Hop: Sendable, Hashable {
        /// The hop limit, from 1.
        package var limit: Int
        /// Who answered.
        package var router: IPAddress
        /// After how long.
        package var duration: Duration

        /// A hop from its parts.
        package init(limit: Int, router: IPAddress, duration: Duration) {
            (self.limit, self.router, self.duration) = (limit, router, duration)
        }

        var json: JSONValue {
            [
                "hop": .whole(self.limit), "address": .string(self.router.description),
                "durationSeconds": .number(self.duration.inSeconds),
            ]
        }
    }

    // Only the present values: most rungs have no certificate.
    var members: [JSONValue.Member] {
        let members: [JSONValue.Member] = [
            .init("durationSeconds", .optional(self.duration?.inSeconds)), .init("httpStatus", .optional(self.status)),
            .init("icmp", self.refusal?.json ?? .null), .init("certificate", self.certificate?.json ?? .null),
            .init("hops", self.hops.isEmpty ? .null : .array(self.hops.map(\.json))),
        ]
        return members.filter { $0.value != .null }
    }
}
