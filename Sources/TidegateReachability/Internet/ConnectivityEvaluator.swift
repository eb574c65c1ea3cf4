internal import TidegateCore

/// The meaning of one check URL's answer.
struct InternetObservation: Sendable, Hashable {
    enum Finding: Sendable, Hashable {
        /// The expected answer.
        case good
        /// A portal answered: with a redirect, with 511, or with a different body than expected.
        case portal(location: String?)
        /// Neither the expected answer nor a portal's.
        case unexpected
        /// No answer.
        case silent
        /// There was no request: the URL's host has no address of this family, or this process lacked a descriptor.
        case absent
    }

    var url: InternetCheckURL
    var finding: Finding
    /// The observation, in one clause.
    var evidence: String
}

/// Evaluates the answers to internet checks.
enum ConnectivityEvaluator {
    /// The meaning of one answer.
    static func observation(_ url: InternetCheckURL, _ answer: HTTPCheck.Result) -> InternetObservation {
        guard let status = answer.status else {
            let text = answer.text.isEmpty ? "no answer" : answer.text
            let finding: InternetObservation.Finding = answer.socketError == .noResources ? .absent : .silent
            return InternetObservation(url: url, finding: finding, evidence: "\(url.text): \(text)")
        }
        let place = answer.location.map { " with Location \($0)" } ?? ""
        let finding = self.finding(url, answer, status)
        let wanted = finding == .unexpected ? "; \(url.expectation)" : ""
        return InternetObservation(
            url: url, finding: finding, evidence: "\(url.text) answered \(status)\(place)\(wanted)")
    }

    /// The observation for a URL whose host could not be resolved.
    static func unresolved(_ url: InternetCheckURL, _ text: String) -> InternetObservation {
        InternetObservation(url: url, finding: .silent, evidence: "\(url.location.target.shownHost): \(text)")
    }

    /// The observation for a URL whose host has no address of a family.
    static func absent(_ url: InternetCheckURL, from family: AddressFamily) -> InternetObservation {
        let text = "it has no \(family.name) address"
        return InternetObservation(
            url: url, finding: .absent, evidence: "\(url.location.target.shownHost): \(text)")
    }

    private static func finding(
        _ url: InternetCheckURL, _ answer: HTTPCheck.Result, _ status: Int
    ) -> InternetObservation.Finding {
        // RFC 6585: network authentication required.
        if status == 511 { return .portal(location: answer.location) }
        switch url.location.scheme {
        case .https: return self.isExpected(url, answer, status, takesAnyBody: true) ? .good : .unexpected
        case .http:
            if self.isExpected(url, answer, status, takesAnyBody: false) { return .good }
            if (300..<400).contains(status) { return self.redirect(url, answer.location) }
            // Only a known body can be wrong: any other body may be the URL's usual answer.
            return (200..<300).contains(status) && url.expectedBody != nil ? .portal(location: nil) : .unexpected
        }
    }

    private static func isExpected(
        _ url: InternetCheckURL, _ answer: HTTPCheck.Result, _ status: Int, takesAnyBody: Bool
    ) -> Bool {
        guard (200..<300).contains(status) else { return false }
        if let expected = url.expectedBody { return answer.body.starts(with: expected.utf8) }
        return status == 204 || takesAnyBody || answer.body.isEmpty
    }

    // A redirect to the server itself is not a portal, but a bad choice of URL.
    private static func redirect(_ url: InternetCheckURL, _ location: String?) -> InternetObservation.Finding {
        guard let location else { return .portal(location: nil) }
        if location.hasPrefix("/") && !location.hasPrefix("//") { return .unexpected }
        let host = (try? HTTPURL(location))?.target.host
        return host == url.location.target.host ? .unexpected : .portal(location: location)
    }

    /// The answers without one server's silence over http where another one answers well over https, which proves more.
    static func decisive(_ all: [InternetObservation]) -> [InternetObservation] {
        let silent = all.filter { $0.finding == .silent }
        let isOne = Set(silent.map(\.url.location.target.host)).count == 1
        let isProven = all.contains { $0.finding == .good && $0.url.location.scheme == .https }
        return isOne && isProven ? all.filter { $0.finding != .silent || $0.url.location.scheme == .https } : all
    }

    /// The meaning of all answers together.
    ///
    /// A portal that answers http usually drops https, so it takes precedence over failures. One good answer among
    /// several operators is enough, but each checked scheme needs one.
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

extension InternetCheckURL {
    /// The answer that the URL requires, as a clause.
    fileprivate var expectation: String {
        if self.expectedBody != nil { return "a check URL has to answer with the body that is configured" }
        switch self.location.scheme {
        case .http: return "a check URL over http has to answer 204, or 200 without a body"
        case .https: return "a check URL over https has to answer with a status from 200 to 299"
        }
    }
}

/// Requests the check URLs over one family, in parallel.
struct ConnectivityChecker: Sendable {
    let urls: [InternetCheckURL]
    let web: any HTTPChecker
    /// The limit for each URL; portals answer fast, and a slower answer means no usable internet.
    let limit: Duration

    private static let bodyLimit = 1024

    /// The observation for every URL, in order; `resolve` returns nil if time runs out.
    func check(
        _ family: AddressFamily, resolve: @escaping @Sendable (String) async -> Result<[IPAddress], ResolveFailure>?
    ) async -> [InternetObservation] {
        await self.urls.concurrentMap { await self.check($0, family, resolve) }
    }

    /// The combined result of the URLs; a silent URL is not waited for if the others have answered well.
    func connectivity(
        _ family: AddressFamily, resolve: @escaping @Sendable (String) async -> Result<[IPAddress], ResolveFailure>?
    ) async -> Connectivity {
        let all = Set(self.urls.map(\.location.scheme))
        let found = await self.urls.concurrentMap(until: { found in
            Set(found.map(\.url.location.scheme)) == all && ConnectivityEvaluator.connectivity(found) == .full
        }) { await self.check($0, family, resolve) }
        // URLs with other answers are badly chosen, and prove nothing about the internet.
        let isWrong = found.allSatisfy { $0.finding == .unexpected || $0.finding == .absent }
        return isWrong ? .unknown : ConnectivityEvaluator.connectivity(found)
    }

    private func check(
        _ url: InternetCheckURL, _ family: AddressFamily,
        _ resolve: @Sendable (String) async -> Result<[IPAddress], ResolveFailure>?
    ) async -> InternetObservation {
        let target = url.location.target
        let found: Result<[IPAddress], ResolveFailure>? =
            if let address = target.address { .success([address]) } else { await resolve(target.host) }
        switch found {
        case .success(let addresses)?:
            guard let address = addresses.first(where: { $0.family == family }) else {
                return ConnectivityEvaluator.absent(url, from: family)
            }
            let wanted = max(ConnectivityChecker.bodyLimit, url.expectedBody?.utf8.count ?? 0)
            let question = HTTPCheck.Request(url: url.location, address: address, limit: self.limit, bodyLimit: wanted)
            return ConnectivityEvaluator.observation(url, await self.web.check(question))
        case .failure(let failure)?:
            return ConnectivityEvaluator.unresolved(url, failure.reason.description)
        case nil: return ConnectivityEvaluator.unresolved(url, "not resolved in time")
        }
    }
}

extension Array where Element: Sendable {
    /// The results of `body`, called for all elements in parallel, in the order of the elements.
    ///
    /// As soon as `isEnough` is true for the available results, the rest is cancelled and left out.
    func concurrentMap<Result: Sendable>(
        until isEnough: ([Result]) -> Bool = { _ in false }, _ body: @escaping @Sendable (Element) async -> Result
    ) async -> [Result] {
        await withTaskGroup(of: (Int, Result).self) { group in
            for (position, element) in self.enumerated() { group.addTask { (position, await body(element)) } }
            var found: [(Int, Result)] = []
            for await entry in group {
                found.append(entry)
                guard !isEnough(found.map(\.1)) else { break }
            }
            group.cancelAll()
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
