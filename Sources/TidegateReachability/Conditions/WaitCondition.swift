public import TidegateCore

/// A condition to wait for, as accepted by `tidegate wait --for`.
public enum WaitCondition: Sendable, Hashable {
    /// How a host must answer.
    public enum HostCheck: String, Sendable, CaseIterable, Hashable {
        case tcp, tls, http
    }

    /// A link carries traffic: the named one, or any.
    case carrier(interface: String?)
    /// A link has an address that counts.
    case address(interface: String?, family: AddressFamily?)
    /// There is a default path.
    case route(family: AddressFamily?)
    /// The gateway of a default path answers on its link; a path without a gateway needs no answer.
    case gateway
    /// A resolver answers a query for the address of `a.root-servers.net`; a denial of the name counts as an answer.
    case dns
    /// A name has an address, looked up as programs do: in `/etc/hosts`, then by the resolvers.
    case name(String)
    /// The internet checks succeed.
    case internet
    /// An address of a host is routed and, with a check, answers.
    case host(Target, HostCheck?)
    /// A GET of a URL is answered with a status below 400; redirects are not followed.
    case url(RequestURL)

    /// An http or https URL to wait for; created by ``init(_:zone:)``.
    public struct RequestURL: Sendable, Hashable {
        let location: HTTPURL

        /// The URL of the request.
        public var text: String { self.location.description }
    }

    /// Parses `carrier[:IF]`, `address[:IF][:v4|v6]`, `route[:v4|v6]`, `gateway`, `dns[:NAME]`, `internet`,
    /// `host:NAME[:PORT[/tcp|tls|http]]`, or an http or https URL.
    ///
    /// - Parameter zone: See ``Target/init(_:zone:)``.
    /// - Throws: ``WaitConditionError``, which quotes the invalid part.
    public init(_ text: String, zone: (String) -> UInt32? = Target.index(ofZone:)) throws(WaitConditionError) {
        guard !text.contains("://") else {
            self = .url(try WaitCondition.url(text, zone: zone))
            return
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let rest = parts.count == 2 ? parts[1] : nil
        switch parts[0] {
        case "carrier": self = .carrier(interface: try WaitCondition.interface(rest, of: text))
        case "address": self = try WaitCondition.address(rest, of: text)
        case "route": self = .route(family: try WaitCondition.family(rest, of: text))
        case "gateway": self = try WaitCondition.alone(.gateway, rest, of: text)
        case "dns":
            self = try rest.map { name throws(WaitConditionError) in try WaitCondition.name(name, of: text) } ?? .dns
        case "internet": self = try WaitCondition.alone(.internet, rest, of: text)
        case "host": self = try WaitCondition.host(rest, of: text, zone: zone)
        default: throw .unknownCondition(parts[0])
        }
    }

    private static func interface(_ part: String?, of text: String) throws(WaitConditionError) -> String? {
        guard let part else { return nil }
        // ALTIFNAMSIZ with its final zero; the kernel refuses slashes, colons and blanks (dev_valid_name).
        guard (1...127).contains(part.utf8.count), !part.contains(where: { $0 == "/" || $0 == ":" || $0.isWhitespace })
        else { throw .badInterface(part, of: text) }
        return part
    }

    private static func family(_ part: String?, of text: String) throws(WaitConditionError) -> AddressFamily? {
        switch part {
        case nil: nil
        case "v4": .ipv4
        case "v6": .ipv6
        case let part?: throw .badFamily(part, of: text)
        }
    }

    private static func address(_ rest: String?, of text: String) throws(WaitConditionError) -> WaitCondition {
        guard let rest else { return .address(interface: nil, family: nil) }
        let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        if parts.count == 1 {
            if let family = try? self.family(rest, of: text) { return .address(interface: nil, family: family) }
            return .address(interface: try self.interface(rest, of: text), family: nil)
        }
        return .address(interface: try self.interface(parts[0], of: text), family: try self.family(parts[1], of: text))
    }

    private static func alone(
        _ condition: WaitCondition, _ rest: String?, of text: String
    ) throws(WaitConditionError) -> WaitCondition {
        guard let rest else { return condition }
        throw .takesNothing(rest, of: text)
    }

    private static func name(_ name: String, of text: String) throws(WaitConditionError) -> WaitCondition {
        guard !name.isEmpty else { throw .noHost(text) }
        let target = try self.target(name, zone: { _ in nil })
        guard target.address == nil, target.port == nil else { throw .badName(name, of: text) }
        return .name(target.shownHost)
    }

    private static func target(_ text: String, zone: (String) -> UInt32?) throws(WaitConditionError) -> Target {
        do throws(TargetError) { return try Target(text, zone: zone) } catch { throw .badTarget(error) }
    }

    private static func url(_ text: String, zone: (String) -> UInt32?) throws(WaitConditionError) -> RequestURL {
        do throws(HTTPURLError) {
            return RequestURL(location: try HTTPURL(text, zone: zone))
        } catch {
            throw .badURL(error.description)
        }
    }

    private static func host(
        _ rest: String?, of text: String, zone: (String) -> UInt32?
    ) throws(WaitConditionError) -> WaitCondition {
        guard let rest, !rest.isEmpty else { throw .noHost(text) }
        let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let target = try self.target(parts[0], zone: zone)
        guard parts.count == 2 else { return .host(target, target.port == nil ? nil : .tcp) }
        guard let check = HostCheck(rawValue: parts[1]) else { throw .unknownCheck(parts[1], of: text) }
        guard target.port != nil else { throw .checkWithoutPort(parts[1], of: text) }
        return .host(target, check)
    }

    /// An address of a host is routed and, unless `check` is nil, answers.
    ///
    /// - Throws: ``TargetError``, which quotes the invalid part.
    public static func host(
        _ host: String, _ port: UInt16, _ check: HostCheck? = .tcp
    ) throws(TargetError) -> WaitCondition {
        .host(try Target(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"), check)
    }

    /// The target of a host condition.
    package var target: Target? {
        switch self {
        case .host(let target, _): target
        case .url(let url): url.location.target
        case .carrier, .address, .route, .gateway, .dns, .name, .internet: nil
        }
    }
}

extension WaitCondition.HostCheck {
    /// The stage that a check must reach.
    var stage: Stage {
        switch self {
        case .tcp: .connect
        case .tls: .tls
        case .http: .body
        }
    }
}

extension WaitCondition: CustomStringConvertible {
    /// The condition in the syntax of ``init(_:zone:)``.
    public var description: String {
        switch self {
        case .carrier(let interface): (["carrier", interface] as [String?]).compactMap { $0 }.joined(separator: ":")
        case .address(let interface, let family):
            ["address", interface, family.map(VerdictDescriptions.short)].compactMap { $0 }.joined(separator: ":")
        case .route(let family):
            ["route", family.map(VerdictDescriptions.short)].compactMap { $0 }.joined(separator: ":")
        case .gateway: "gateway"
        case .dns: "dns"
        case .name(let name): "dns:\(name)"
        case .internet: "internet"
        case .host(let target, let check): "host:\(target)\(check.map { "/\($0.rawValue)" } ?? "")"
        case .url(let url): url.text
        }
    }
}

/// An error in a condition's text; every case quotes the invalid part.
public enum WaitConditionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The first word is not a condition.
    case unknownCondition(String)
    /// This condition takes no argument.
    case takesNothing(String, of: String)
    /// This is not an interface name.
    case badInterface(String, of: String)
    /// This is neither v4 nor v6.
    case badFamily(String, of: String)
    /// `host:` or `dns:` has no name.
    case noHost(String)
    /// This is an address or has a port, but only a name is allowed.
    case badName(String, of: String)
    /// The URL cannot be requested.
    case badURL(String)
    /// The host or port is invalid.
    case badTarget(TargetError)
    /// This is neither tcp nor tls nor http.
    case unknownCheck(String, of: String)
    /// A check needs a port.
    case checkWithoutPort(String, of: String)

    /// One sentence without a full stop.
    public var description: String {
        switch self {
        case .unknownCondition(let word):
            "\"\(word)\" is not a condition; conditions are carrier, address, route, gateway, dns, internet, host and URLs"
        case .takesNothing(let part, let text):
            "\"\(part)\" in \"\(text)\" is not allowed; choose the family with -4 or -6"
        case .badInterface(let part, let text): "\"\(part)\" in \"\(text)\" is not an interface name"
        case .badFamily(let part, let text): "\"\(part)\" in \"\(text)\" is neither v4 nor v6"
        case .noHost(let text): "\"\(text)\" names no host"
        case .badName(let part, let text): "\"\(part)\" in \"\(text)\" is not a name; wait for an address with host:"
        case .badURL(let text): text
        case .badTarget(let error): error.description
        case .unknownCheck(let part, let text):
            "\"\(part)\" in \"\(text)\" is not a check; checks are tcp, tls and http"
        case .checkWithoutPort(let part, let text): "the check \"\(part)\" in \"\(text)\" needs a port"
        }
    }
}
