package import TidegateCore
internal import TidegateTransfer

/// The trusted servers of a session, and the client certificate for servers that request one.
///
/// An untrusted server fails a task without retries, before a byte of its request is sent: as `tlsFailed`, as
/// `tlsPinMismatch` if a pin decided, or as `fileError` if a file of this policy cannot be used.
public struct ServerTrustPolicy: Sendable, Hashable, Codable {
    /// A file of certificate authorities in PEM form, trusted instead of the system's; nil trusts the system's.
    public var caFile: String?
    /// A file in PEM form with a list of revoked certificates of every authority of a server's chain (RFC 5280 5); nil
    /// checks no list.
    ///
    /// A revoked certificate fails as `tlsFailed`; a missing or expired list fails as `fileError`.
    public var crlFile: String?
    /// True requires the server to send an OCSP response with its certificate (RFC 6066 8), and to have no revoked one.
    public var requiresCertificateStatus = false
    /// The accepted certificates or public keys by host, with `*` for all other hosts; a host must present one of them.
    ///
    /// Hosts without an entry may present any.
    ///
    /// A public key is `sha256//BASE64` (RFC 7469 2.4), a certificate the 64 hexadecimal digits of its SHA-256
    /// fingerprint, with or without colons. One match anywhere in the verified chain suffices: the server's own
    /// certificate, an intermediate one or the authority's.
    ///
    /// Pins restrict trust: the chain is verified as well, unless ``isInsecure``; then only the server's own
    /// certificate counts. An `http:` URL of a host with pins fails as `invalidRequest`, and a redirect to one as
    /// `redirectRefused`.
    public var pins: [String: [String]]
    /// False accepts a verified certificate for any name, but only from hosts that have ``pins``.
    public var validatesHostName: Bool
    /// True disables the verification of certificates.
    public var isInsecure: Bool
    /// A PEM file with the client certificate and its chain, for servers that request one.
    ///
    /// Like other credentials it is presented only to the task's origin; a certificate that ``hosts`` names for a host
    /// is also presented to that host after a redirect.
    public var clientCertificate: String?
    /// A PEM file with the key of ``clientCertificate``, without a passphrase; nil if it is in the same file.
    public var clientKey: String?
    /// Policies that replace this one for single hosts; these must not have `hosts` themselves.
    public var hosts: [String: ServerTrustPolicy]

    /// Creates a policy; by default the system's authorities and no pins.
    public init(
        caFile: String? = nil, pins: [String: [String]] = [:], isInsecure: Bool = false,
        validatesHostName: Bool = true, clientCertificate: String? = nil, clientKey: String? = nil,
        hosts: [String: ServerTrustPolicy] = [:]
    ) {
        self.caFile = caFile
        self.pins = pins
        self.isInsecure = isInsecure
        self.validatesHostName = validatesHostName
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.hosts = hosts
    }

    /// Decodes a policy; members with default values may be absent.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.caFile = try values.decodeIfPresent(String.self, forKey: .caFile)
        self.crlFile = try values.decodeIfPresent(String.self, forKey: .crlFile)
        self.requiresCertificateStatus =
            try values.decodeIfPresent(Bool.self, forKey: .requiresCertificateStatus) ?? false
        self.pins = try values.decodeIfPresent([String: [String]].self, forKey: .pins) ?? [:]
        self.isInsecure = try values.decodeIfPresent(Bool.self, forKey: .isInsecure) ?? false
        self.validatesHostName = try values.decodeIfPresent(Bool.self, forKey: .validatesHostName) ?? true
        self.clientCertificate = try values.decodeIfPresent(String.self, forKey: .clientCertificate)
        self.clientKey = try values.decodeIfPresent(String.self, forKey: .clientKey)
        self.hosts = try values.decodeIfPresent([String: ServerTrustPolicy].self, forKey: .hosts) ?? [:]
    }

    // MARK: - Use

    /// The TLS options of an attempt to a host; `showsCertificate` is false on another origin than the task's.
    func options(
        for url: HTTPURL, showsCertificate: Bool, evaluator: TrustEvaluator?
    ) -> TLSOptions {
        // Copying the host's name costs more than the rest of the lookup, and most policies name no host.
        guard !self.hosts.isEmpty, let policy = Self.value(of: url.target.host, in: self.hosts) else {
            return self.own(for: url, showsCertificate: showsCertificate, evaluator)
        }
        // The certificate for a named host is intended for that host.
        return policy.own(for: url, showsCertificate: true, evaluator)
    }

    /// The settings of every attempt without a hook; nil if they depend on the host or on the origin.
    var hostless: TLSOptions? {
        guard self.hosts.isEmpty, self.pins.isEmpty, self.clientCertificate == nil else { return nil }
        return self.withRevocation(TLSOptions(caFile: self.caFile, isInsecure: self.isInsecure))
    }

    private func withRevocation(_ options: TLSOptions) -> TLSOptions {
        var options = options
        (options.crlFile, options.requiresStatus) = (self.crlFile, self.requiresCertificateStatus)
        return options
    }

    /// Why a URL cannot be requested; nil if it can.
    ///
    /// Over plain HTTP no server presents a certificate, so a host's pins would protect nothing.
    func refusal(of url: HTTPURL) -> String? {
        guard url.scheme == .http, !self.hosts.isEmpty || !self.pins.isEmpty else { return nil }
        let host = url.target.host
        guard case let pins = Self.value(of: host, in: self.hosts)?.pins ?? self.pins,
            (Self.value(of: host, in: pins) ?? pins["*"])?.isEmpty == false
        else { return nil }
        return "\(host) has pins, and an http: URL shows no certificate; use https:, or remove its pins"
    }

    private func own(for url: HTTPURL, showsCertificate: Bool, _ evaluator: TrustEvaluator?) -> TLSOptions {
        let named = self.pins.isEmpty ? nil : Self.value(of: url.target.host, in: self.pins) ?? self.pins["*"]
        let pins = (named ?? []).compactMap { try? CertificatePin($0) }
        return self.withRevocation(
            TLSOptions(
                caFile: self.caFile, isInsecure: self.isInsecure,
                verifiesName: self.validatesHostName || pins.isEmpty, pins: pins,
                clientCertificate: showsCertificate ? self.clientCertificate : nil,
                clientKey: showsCertificate ? self.clientKey : nil, evaluator: evaluator))
    }

    /// The value for a host, whose name is in lower case and encoded; keys may be written in any form.
    private static func value<Value>(of host: String, in values: [String: Value]) -> Value? {
        guard !values.isEmpty else { return nil }
        return values[host] ?? values.first { (try? Target($0.key).host) == host }?.value
    }

    // MARK: - Checks

    /// - Throws: The first invalid property.
    package func validate() throws(ConfigurationValueError) {
        try self.validateOwn()
        try Self.checkHosts(self.hosts.keys, "tls.hosts")
        for (host, policy) in self.hosts.sorted(by: { $0.key < $1.key }) {
            try ConfigurationValueError.check(
                policy.hosts.isEmpty, "tls.hosts", "the policy of \(host) has policies of other hosts")
            try Result { () throws(ConfigurationValueError) in try policy.validateOwn() }
                .mapError { ConfigurationValueError(property: "tls.hosts", problem: "\(host): \($0.problem)") }.get()
        }
    }

    // Hosts must have no port, and must be unique: with two entries for one host, neither would clearly apply.
    private static func checkHosts(
        _ keys: some Sequence<String>, _ property: String
    ) throws(ConfigurationValueError) {
        var known: [String: String] = [:]
        for key in keys.sorted() {
            guard let target = try? Target(key) else {
                throw ConfigurationValueError(property: property, problem: "\"\(key)\" is not a host")
            }
            try ConfigurationValueError.check(
                target.port == nil, property,
                "\"\(key)\" has a port; settings for a host apply to all of its ports")
            let other = known.updateValue(key, forKey: target.host) ?? key
            try ConfigurationValueError.check(
                other == key, property, "\"\(other)\" and \"\(key)\" are the same host")
        }
    }

    private func validateOwn() throws(ConfigurationValueError) {
        for (file, name) in [
            (self.caFile, "tls.caFile"), (self.crlFile, "tls.crlFile"),
            (self.clientCertificate, "tls.clientCertificate"),
            (self.clientKey, "tls.clientKey"),
        ] {
            try ConfigurationValueError.check(file != "", name, "the file has no name")
        }
        try ConfigurationValueError.check(
            self.crlFile == nil || !self.isInsecure, "tls.crlFile", "a CRL has no effect when verification is off")
        try ConfigurationValueError.check(
            self.clientKey == nil || self.clientCertificate != nil, "tls.clientKey",
            "a client key needs its certificate")
        try ConfigurationValueError.check(
            self.validatesHostName || !self.pins.isEmpty, "tls.validatesHostName",
            "names are validated unless a host has pins")
        try Self.checkHosts(self.pins.keys.filter { $0 != "*" }, "tls.pins")
        for (host, pins) in self.pins.sorted(by: { $0.key < $1.key }) {
            try ConfigurationValueError.check(!pins.isEmpty, "tls.pins", "\(host) has no pin")
            for pin in pins {
                _ = try Result { try CertificatePin(pin) }
                    .mapError { ConfigurationValueError(property: "tls.pins", problem: "\(host): \($0)") }.get()
            }
        }
    }
}
