package import TidegateCore

/// The subject of a diagnosis: a host, a port of it, or a URL.
package struct ExplainTarget: Sendable, Hashable, CustomStringConvertible {
    /// The host, with the port if one is named or the URL's scheme has one.
    package let target: Target
    /// The text that it was created from, without user information.
    package let description: String
    /// The URL; nil if none was given.
    package let location: HTTPURL?
    /// True for the internet as a whole: every way out of this host, and every resolver.
    package var isInternet = false
    /// The proxy for requests; the ladder is then that of the proxy's host.
    var proxy: Proxy?
    /// A proxy that the environment names but that is not used; nil if none exists.
    package var unusedProxy: String?
    /// Recent answers from its addresses, used for addresses that are silent now.
    var answered: [IPAddress: HTTPCheck.Result] = [:]

    /// The same target through a proxy.
    ///
    /// A host without a URL uses the proxy only for its port, and the internet as a whole uses none.
    package func through(_ proxy: Proxy) -> ExplainTarget {
        guard !self.isInternet else { return self }
        return ExplainTarget(
            target: proxy.target, description: "\(self.description) through the proxy \(proxy)",
            location: self.location, proxy: proxy)
    }

    /// The internet as a whole.
    package static let internet = ExplainTarget(
        target: Target(address: IPAddress(ipv4: 0)), description: Explanation.internet, location: nil, isInternet: true)

    /// The last stage that a check of the target can reach; nil without a port.
    var lastStage: Stage? {
        if self.location != nil { return .body }
        switch self.target.port {
        case nil: return nil
        // For the https port, the check includes the certificate.
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
    /// Creates a target from a host with an optional port.
    package init(_ target: Target) {
        self.init(target: target, description: target.description, location: nil)
    }

    /// Creates a target from a URL.
    init(_ url: HTTPURL) { self.init(target: url.target, description: url.description, location: url) }

    /// Parses `HOST`, `HOST:PORT`, or an http or https URL.
    ///
    /// - Parameter zone: See ``Target/init(_:zone:)``.
    /// - Throws: ``TargetError``, which quotes the invalid part.
    package init(_ text: String, zone: (String) -> UInt32? = Target.index(ofZone:)) throws(TargetError) {
        do throws(HTTPURLError) {
            self.init(try HTTPURL(text, zone: zone))
        } catch {
            if case .target(let problem, _) = error { throw problem }
            self.init(try Target(text, zone: zone))
        }
    }
}
