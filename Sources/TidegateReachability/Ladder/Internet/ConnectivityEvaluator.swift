internal import TidegateCore

/// What one check URL's answer says.
struct InternetObservation: Sendable, Hashable {
    enum Finding: Sendable, Hashable {
        /// The expected answer.
        case good
        /// Somebody else answered, and sent us there where he said so.
        case portal(location: String?)
        /// An answer that is neither.
        case unexpected
        /// No answer.
        case silent
        /// The URL's host has no address in this family, so that nobody could be asked.
        case absent
    }

    var url: InternetCheckURL
    var finding: Finding
    /// What was seen, in one clause.
    var evidence: String
}

/// Judges answers to internet checks.
enum ConnectivityEvaluator {
    /// What one answer says.
    static func judge(_ url: InternetCheckURL, _ answer: HTTPCheck.Result) -> InternetObservation {
        guard let status = answer.status else {
            let words = answer.text.isEmpty ? "no answer" : answer.text
            return InternetObservation(url: url, finding: .silent, evidence: "\(url.text): \(words)")
        }
        let place = answer.location.map { " with Location \($0)" } ?? ""
        return InternetObservation(
            url: url, finding: self.finding(url, answer, status), evidence: "\(url.text) answered \(status)\(place)")
    }

    /// What a URL whose host has no address says.
    static func unresolved(_ url: InternetCheckURL, _ words: String) -> InternetObservation {
        InternetObservation(url: url, finding: .silent, evidence: "\(url.location.target.host): \(words)")
    }

    /// A URL that says nothing about a family, because its host has no address there.
    static func absent(_ url: InternetCheckURL, from family: AddressFamily) -> InternetObservation {
        let words = "it has no \(family == .ipv4 ? "IPv4" : "IPv6") address"
        return InternetObservation(
            url: url, finding: .absent, evidence: "\(url.location.target.host): \(words)")
    }

    private static func finding(
        _ url: InternetCheckURL, _ answer: HTTPCheck.Result, _ status: Int
    ) -> InternetObservation.Finding {
        // RFC 6585: a network that wants a login says so itself.
        if status == 511 { return .portal(location: answer.location) }
        switch url.location.scheme {
        case .https: return self.isExpected(url, answer, status, takesAnyBody: true) ? .good : .unexpected
        case .http:
            if self.isExpected(url, answer, status, takesAnyBody: false) { return .good }
            if (300..<400).contains(status) { return self.redirect(url, answer.location) }
            return (200..<300).contains(status) ? .portal(location: nil) : .unexpected
        }
    }

    private static func isExpected(
        _ url: InternetCheckURL, _ answer: HTTPCheck.Result, _ status: Int, takesAnyBody: Bool
    ) -> Bool {
        guard (200..<300).contains(status) else { return false }
        if let expected = url.expectedBody { return answer.body.starts(with: expected.utf8) }
        return status == 204 || takesAnyBody || answer.body.isEmpty
    }

    // A server that sends its own visitors on is no portal, only a bad choice of URL.
    private static func redirect(_ url: InternetCheckURL, _ location: String?) -> InternetObservation.Finding {
        guard let location else { return .portal(location: nil) }
        if location.hasPrefix("/") && !location.hasPrefix("//") { return .unexpected }
        let host = (try? HTTPURL(location))?.target.host
        return host == url.location.target.host ? .unexpected : .portal(location: location)
    }

    /// What all answers together say.
    ///
    /// A portal that answers http drops https as well, so that it counts before a failure; one good answer of several
    /// operators is enough, but both schemes have to have one where both are asked.
    static func connectivity(_ all: [InternetObservation]) -> Connectivity {
        let observations = all.filter { $0.finding != .absent }
        guard !observations.isEmpty else { return .unknown }
        for observation in observations {
            if case .portal(let location) = observation.finding { return .portal(location: location) }
        }
        let schemes = Set(observations.map(\.url.location.scheme))
        let good = Set(observations.filter { $0.finding == .good }.map(\.url.location.scheme))
        if good == schemes { return .full }
        return !good.isEmpty || observations.contains { $0.finding == .unexpected } ? .limited : .none
    }
}
