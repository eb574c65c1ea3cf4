extension ICMPError {
    /// Who said what, as a network engineer would put it: `10.0.0.1 says: no route to 198.51.100.2 (ICMP 3/0)`.
    ///
    /// `role` says who that is: `10.0.0.1 (the gateway) says: …`.
    public func sentence(about destination: IPAddress?, role: String? = nil) -> String {
        let who = self.offender.map { "\($0)" } ?? "this host"
        let subject = role.map { "\(who) (\($0))" } ?? who
        let object = destination.map { " \(self.meaning.preposition) \($0)" } ?? ""
        return "\(subject) says: \(self.meaning.words)\(object) (\(self.number))"
    }

    /// The type and the code: `ICMP 3/0`, `ICMPv6 1/0`.
    public var number: String { "\(self.isICMPv6 ? "ICMPv6" : "ICMP") \(self.type)/\(self.code)" }
}

extension ICMPErrorKind {
    fileprivate var preposition: String {
        switch self {
        case .noRoute, .timeExceeded, .other: "to"
        case .hostUnreachable, .portUnreachable, .prohibited: "at"
        }
    }
}
