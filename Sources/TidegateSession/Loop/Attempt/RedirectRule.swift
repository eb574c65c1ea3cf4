internal import HTTPTypes
package import TidegateCore

/// The destination of a redirect, and the fields that follow it (RFC 9110 15.4).
package struct RedirectRule: Sendable {
    /// The hosts that a server with a public address may lead to.
    package enum Reach: Sendable {
        case everyHost
        /// Not this host, its links and metadata services.
        case otherHosts
        /// Neither these nor private networks.
        case publicHosts
    }

    package let policy: RedirectPolicy
    private let reach: Reach

    /// A rule; the policy `free` limits no host for a task.
    package init(policy: RedirectPolicy, reach: Reach) {
        self.policy = policy
        self.reach = reach
    }

    /// The statuses that are followed; 300 and 304 are final answers.
    package static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    /// The request that follows; `remote` is the address of the server that answered, nil if only a proxy knows it.
    package func follow(
        _ status: Int, to location: String, from hop: Hop, answeredBy remote: IPAddress?
    ) throws(RedirectError) -> Hop {
        let url: HTTPURL
        do throws(HTTPURLError) { url = try hop.url.resolving(location) } catch { throw .unusable(error) }
        let isSameOrigin = url.origin == hop.url.origin
        let isFromPublicServer = hop.isFromPublicServer || Self.isPublic(remote, hop.url.target)
        if self.policy != .free {
            guard isSameOrigin || self.policy != .sameOrigin else { throw .refused(url, .otherOrigin(self.policy)) }
            guard url.scheme == .https || hop.url.scheme == .http else { throw .refused(url, .downgrade(self.policy)) }
        }
        if isFromPublicServer, self.excludes(url.target) {
            throw .refused(url, .unreachable(url.target.address))
        }
        let isSafe = hop.method == "GET" || hop.method == "HEAD"
        let becomesGet = !isSafe && (status == 303 || (hop.method == "POST" && (status == 301 || status == 302)))
        let keepsFields = isSameOrigin || self.policy == .free
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
    package func check(_ addresses: [IPAddress], of hop: Hop) throws(RedirectError) {
        guard hop.isFromPublicServer, let address = addresses.first(where: self.excludes) else { return }
        throw .refused(hop.url, .unreachable(address))
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
        guard let address = remote ?? target.address else { return !target.isLocalName }
        return (address.embeddedIPv4 ?? address).isGlobal
    }

    private func excludes(_ target: Target) -> Bool {
        target.isLocalName && self.reach != .everyHost || target.address.map(self.excludes) ?? false
    }

    private func excludes(_ given: IPAddress) -> Bool {
        let address = given.embeddedIPv4 ?? given
        return switch self.reach {
        case .everyHost: false
        case .otherHosts: address.isLocal
        case .publicHosts: address.isLocal || !address.isGlobal
        }
    }
}

/// Why a redirect is not followed.
package enum RedirectError: Error {
    /// The Location is not a URL that can be requested.
    case unusable(HTTPURLError)
    /// A rule refuses it.
    case refused(HTTPURL, Reason)

    /// What the rule refuses.
    package enum Reason: Sendable {
        case otherOrigin(RedirectPolicy), downgrade(RedirectPolicy)
        /// A host that a public server may not lead to, with its address; nil if the name alone shows it.
        case unreachable(IPAddress?)
    }

    var failure: TaskFailure {
        switch self {
        case .unusable: .protocolError
        case .refused: .redirectRefused
        }
    }

    /// One clause without a final full stop; of a Location only what cannot hold credentials.
    var sentence: String {
        self.sentence(privateAllowedBy: "--allow-private-redirects or transfers.allow_private_redirects")
    }

    /// The same; `option` is what allows redirects to private addresses.
    package func sentence(privateAllowedBy option: String) -> String {
        let (url, why): (HTTPURL, String)
        switch self {
        case .unusable(.character): return "the server redirects to a Location with a control character in it"
        case .unusable(.scheme): return "the server redirects to something other than an http:// or https:// URL"
        case .unusable(.target): return "the server redirects to a URL that names no host that can be asked"
        case .refused(let target, .otherOrigin(let policy)):
            (url, why) = (target, "another origin, which the policy \(policy.rawValue) refuses; \(Self.freedom)")
        case .refused(let target, .downgrade(let policy)):
            (url, why) = (target, "http after https, which the policy \(policy.rawValue) refuses; \(Self.freedom)")
        case .refused(let target, .unreachable(let address)):
            let kind = address?.isLocal ?? true ? "local" : "private"
            let shown = target.target.address == nil ? address.map { "the \(kind) address \($0)" } : nil
            (url, why) = (target, "\(shown ?? "a \(kind) address"); \(option) allows it")
        }
        return "the server redirects to \(Secrets.path(url.textWithoutQuery)), \(why)"
    }

    private static let freedom = "--redirects free or transfers.redirects allows it"
}

extension Target {
    /// True for a name of this host (RFC 6761 6.3).
    fileprivate var isLocalName: Bool { self.host == "localhost" || self.host.hasSuffix(".localhost") }
}

extension IPAddress {
    /// True if it leads no further than this host, its link and its cloud's metadata service; Linux treats the
    /// unspecified address as loopback.
    fileprivate var isLocal: Bool {
        let isThisNetwork = self.family == .ipv4 && self.bits.low >> 24 == 0
        return self.isLoopback || self.isLinkLocal || self.isUnspecified || self.isMetadata || isThisNetwork
    }
}
