internal import HTTPTypes
package import TidegateCore

/// The destination of a redirect, and the fields that follow it (RFC 9110 15.4).
package enum RedirectRule {
    /// The statuses that are followed; 300 and 304 are final answers.
    package static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// The request that follows; `remote` is the address of the server that answered, nil if only a proxy knows it.
    package static func follow(
        _ status: Int, to location: String, from hop: Hop, answeredBy remote: IPAddress?, policy: RedirectPolicy
    ) throws(RedirectError) -> Hop {
        let url: HTTPURL
        do throws(HTTPURLError) { url = try hop.url.resolving(location) } catch { throw .unusable(error) }
        let isSameOrigin = url.origin == hop.url.origin
        let isFromPublicServer = hop.isFromPublicServer || self.isPublic(remote, hop.url.target)
        if policy != .free {
            guard isSameOrigin || policy != .sameOrigin else { throw .refused(url, .otherOrigin, policy) }
            guard url.scheme == .https || hop.url.scheme == .http else { throw .refused(url, .downgrade, policy) }
            if isFromPublicServer, url.target.isLocal { throw .refused(url, .local(url.target.address), policy) }
        }
        let isSafe = hop.method == "GET" || hop.method == "HEAD"
        let becomesGet = !isSafe && (status == 303 || (hop.method == "POST" && (status == 301 || status == 302)))
        let keepsFields = isSameOrigin || policy == .free
        return Hop(
            method: becomesGet ? "GET" : hop.method, url: url, keepsBody: hop.keepsBody && !becomesGet,
            keepsCredentials: hop.keepsCredentials && keepsFields, isFromPublicServer: isFromPublicServer,
            headers: hop.headers?.filter { field in
                if !keepsFields, !PortableFields.mayCrossOrigins(field.name) { return false }
                if !isSameOrigin, field.name.canonicalName == "host" { return false }
                return !becomesGet || !PortableFields.describesBody(field.name)
            })
    }

    /// Checks the addresses that a name behind a redirect has: all of them, because the client may connect to any of
    /// them.
    static func check(_ addresses: [IPAddress], of hop: Hop, policy: RedirectPolicy) throws(RedirectError) {
        guard hop.isFromPublicServer, policy != .free, let address = addresses.first(where: \.isLocal) else { return }
        throw .refused(hop.url, .local(address), policy)
    }

    /// The hop with a hook's changes; its fields are used unchanged.
    static func replaced(_ hop: Hop, by request: RedirectRequest) throws(TaskError) -> Hop {
        let checked = try TaskRequest(url: request.url, method: request.method, headers: request.headers)
        let keepsCredentials = hop.keepsCredentials && checked.address.origin == hop.url.origin
        return Hop(
            method: checked.method, url: checked.address, keepsBody: hop.keepsBody && request.keepsBody,
            keepsCredentials: keepsCredentials, isFromPublicServer: hop.isFromPublicServer, headers: checked.headers)
    }

    // A name whose address only a proxy knows counts as public.
    private static func isPublic(_ remote: IPAddress?, _ target: Target) -> Bool {
        guard let address = remote ?? target.address else { return !target.isLocal }
        return address.embeddedIPv4?.isGlobal ?? address.isGlobal
    }
}

/// Why a redirect is not followed.
package enum RedirectError: Error {
    /// Its Location is not a URL that can be requested.
    case unusable(HTTPURLError)
    /// The policy refuses it.
    case refused(HTTPURL, Reason, RedirectPolicy)

    /// The policy's reason.
    package enum Reason: Sendable {
        case otherOrigin, downgrade
        /// It leads to this host or its link; nil if the name shows that itself.
        case local(IPAddress?)
    }

    var failure: TaskFailure {
        switch self {
        case .unusable: .protocolError
        case .refused: .redirectRefused
        }
    }

    /// One clause without a final full stop; of a Location only what cannot hold credentials.
    package var sentence: String {
        switch self {
        case .unusable(.character): return "the server redirects to a Location with a control character in it"
        case .unusable(.scheme): return "the server redirects to what is not an http:// or https:// URL"
        case .unusable(.target): return "the server redirects to a URL that names no host that can be asked"
        case .refused(let url, let reason, let policy):
            let why =
                switch reason {
                case .otherOrigin: "another origin"
                case .downgrade: "http after https"
                case .local(let address?) where url.target.address == nil: "the local address \(address)"
                case .local: "a local address"
                }
            return """
                the server redirects to \(url.textWithoutQuery), \(why), which the policy \(policy.rawValue) refuses; \
                --redirects free or transfers.redirects allows it
                """
        }
    }
}

extension Target {
    /// True for an address, or a name (RFC 6761 6.3), of this host or its link.
    fileprivate var isLocal: Bool {
        self.address?.isLocal ?? (self.host == "localhost" || self.host.hasSuffix(".localhost"))
    }
}

extension IPAddress {
    /// True if it leads no further than this host and its link; Linux treats the unspecified address as loopback.
    fileprivate var isLocal: Bool {
        let address = self.embeddedIPv4 ?? self
        let isThisNetwork = address.family == .ipv4 && address.bits.low >> 24 == 0
        return address.isLoopback || address.isLinkLocal || address.isUnspecified || isThisNetwork
    }
}
