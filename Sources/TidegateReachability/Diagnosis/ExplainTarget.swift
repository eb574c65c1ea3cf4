package import TidegateCore

/// What a diagnosis is about: a host, a port of it, or a URL.
package struct ExplainTarget: Sendable, Hashable, CustomStringConvertible {
    /// The host, with the port if one is named or the URL's scheme has one.
    package let target: Target
    /// The text it was made from, without user information.
    package let description: String
    /// The URL; nil if none was given.
    package let location: HTTPURL?
    /// True if it is the internet as a whole: every way out of this host, and every resolver.
    package var isInternet = false
    /// The proxy that requests go through; the ladder is then that of its host.
    var proxy: Proxy?
    /// A proxy that the environment names and that is not used; nil without one.
    package var unusedProxy: String?
    /// The recent answers of its addresses, which count if they are silent now.
    var answered: [IPAddress: HTTPCheck.Result] = [:]

    /// The same through a proxy; a host without a URL is only asked for through it on its port, and the internet as a
    /// whole has none.
    package func through(_ proxy: Proxy) -> ExplainTarget {
        guard !self.isInternet else { return self }
        return ExplainTarget(
            target: proxy.target, description: "\(self.description) through the proxy \(proxy)",
            location: self.location, proxy: proxy)
    }

    /// The internet as a whole.
    package static let internet = ExplainTarget(
        target: Target(address: IPAddress(ipv4: 0)), description: Explanation.internet, location: nil, isInternet: true)

    /// How far the target can be checked; nil without a port.
    var lastStage: Stage? {
        if self.location != nil { return .body }
        switch self.target.port {
        case nil: return nil
        // For the port of https the check includes the certificate.
        case 443: return .tls
        default: return .connect
        }
    }

    /// True if the target is checked over TLS.
    var usesTLS: Bool { self.location?.scheme == .https || self.location == nil && self.target.port == 443 }

    /// The URL that a check requests.
    var url: HTTPURL { self.location ?? HTTPURL(scheme: self.usesTLS ? .https : .http, target: self.target) }
}

extension ExplainTarget {
    /// A host with an optional port.
    package init(_ target: Target) {
        self.init(target: target, description: target.description, location: nil)
    }

    /// A URL.
    init(_ url: HTTPURL) { self.init(target: url.target, description: url.description, location: url) }

    /// Parses `HOST`, `HOST:PORT`, or an http or https URL.
    ///
    /// - Parameter zone: See ``Target/init(_:zone:)``.
    /// - Throws: ``TargetError``, which quotes the part that is wrong.
    package init(_ text: String, zone: (String) -> UInt32? = { UInt32($0) }) throws(TargetError) {
        do throws(HTTPURLError) {
            self.init(try HTTPURL(text, zone: zone))
        } catch {
            if case .target(let problem, _) = error { throw problem }
            self.init(try Target(text, zone: zone))
        }
    }
}
