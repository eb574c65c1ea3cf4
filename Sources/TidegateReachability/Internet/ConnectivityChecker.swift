internal import TidegateCore

/// Requests the check URLs over one family, all at once.
struct ConnectivityChecker: Sendable {
    let urls: [InternetCheckURL]
    let web: any HTTPChecker
    /// The limit for each URL; a portal answers fast, and a slower answer means no usable internet.
    let limit: Duration

    private static let bodyLimit = 1024

    /// The observation at every URL, in order; `resolve` returns nil if the time has run out.
    func check(
        _ family: AddressFamily, resolve: @escaping @Sendable (String) async -> Result<[IPAddress], ResolveFailure>?
    ) async -> [InternetObservation] {
        await withTaskGroup(of: (Int, InternetObservation).self) { group in
            for (position, url) in self.urls.enumerated() {
                group.addTask { (position, await self.check(url, family, resolve)) }
            }
            var found: [(Int, InternetObservation)] = []
            for await entry in group { found.append(entry) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
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
