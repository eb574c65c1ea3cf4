internal import ArgumentParser
internal import Foundation
internal import Tidegate
internal import TidegateDaemon

/// `--cacert`, `--pin`, `--cert`, `--key` and `--insecure`.
struct TrustOptions: ParsableArguments {
    @OptionGroup var authority: AuthorityOptions

    @Option(
        name: .customLong("pin"),
        help: .value(
            "pin", "Key (sha256//BASE64) or SHA-256 fingerprint that a certificate of the chain must have (repeatable)."
        ))
    var pins: [String] = []

    @Option(help: .value("file", "Client certificate (PEM) for servers that ask for one."))
    var cert: String?

    @Option(help: .value("file", "Its key (PEM), if it is in another file."))
    var key: String?

    @Option(help: .value("file", "Revoked certificates (PEM): a list of every authority of the chain."))
    var crlfile: String?

    @Flag(help: "Require an OCSP response that the server sends with its certificate (stapling).")
    var certStatus = false

    @Flag(help: "Do not verify server certificates.")
    var insecure = false

    func validate() throws {
        try OptionParsing.exclude(("--cacert", self.authority.cacert != nil), ("--insecure", self.insecure))
        try OptionParsing.exclude(("--crlfile", self.crlfile != nil), ("--insecure", self.insecure))
        if self.key != nil, self.cert == nil { throw ValidationError("--key requires --cert") }
        for pin in self.pins { _ = try OptionParsing.naming("--pin", CertificatePin(pin)) }
    }

    /// Checks that the files can be read.
    ///
    /// - Throws: a usage error that names the option and the file.
    func check() throws {
        try self.authority.check()
        for (option, file) in [("--crlfile", self.crlfile), ("--cert", self.cert), ("--key", self.key)] {
            guard let file else { continue }
            _ = try OptionParsing.naming(
                option, PipedFile.text(of: file, atMost: option == "--crlfile" ? 64 << 20 : TrustOptions.maxBytes))
        }
    }

    private static let maxBytes = 1 << 20

    /// The file with a private key; the command warns if every user may read it.
    var keyFiles: [String] { [self.key ?? self.cert].compactMap { $0 } }

    /// How transfers verify servers; call ``check()`` first.
    var policy: ServerTrustPolicy {
        var policy = ServerTrustPolicy(
            caFile: self.authority.caFile, pins: self.pins.isEmpty ? [:] : ["*": self.pins], isInsecure: self.insecure,
            clientCertificate: self.cert.map(PipedFile.known), clientKey: self.key.map(PipedFile.known))
        policy.crlFile = self.crlfile.map(PipedFile.known)
        policy.requiresCertificateStatus = self.certStatus
        return policy
    }
}

/// `--cacert`, and the authorities of the environment.
struct AuthorityOptions: ParsableArguments {
    @Option(
        help: .value(
            "file",
            "CA certificates (PEM) to verify servers against, instead of SSL_CERT_FILE, SSL_CERT_DIR or the system's."))
    var cacert: String?

    /// The file of `cacert`, or the copy of a pipe made by the check; otherwise that of the environment.
    var caFile: String? { self.cacert.map(PipedFile.known) ?? AuthorityOptions.file(in: Terminal.environment) }

    /// The files and directories of distributions; with one of these, a variable names nothing but the system's.
    private static let system: Set = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    ]

    /// The authorities of SSL_CERT_FILE and SSL_CERT_DIR (openssl-env(7)); nil for the system's.
    ///
    /// Certificates in directories are copied into one file. A name without certificates is returned unchanged: the
    /// transfer reports it.
    static func file(in environment: [String: String]) -> String? {
        let file = environment["SSL_CERT_FILE"] ?? ""
        let folders = (environment["SSL_CERT_DIR"] ?? "").split(separator: ":").map(String.init)
        let names = (file.isEmpty ? [] : [file]) + folders
        guard let first = names.first, !names.allSatisfy(self.system.contains) else { return nil }
        guard !folders.isEmpty else { return first }
        let files = names.flatMap { name in
            (try? FileManager.default.contentsOfDirectory(atPath: name))?.map { "\(name)/\($0)" } ?? [name]
        }
        // In such a directory, hashes are links to the other names.
        let texts = Set(files.compactMap { try? TextFile.read($0, atMost: self.maxBytes) }.filter(self.hasCertificate))
        return PipedFile.copy(texts.sorted().joined(separator: "\n"), named: names.joined(separator: ":")) ?? first
    }

    // The system's own file is smaller than 256 KiB.
    private static let maxBytes = 16 << 20

    /// Checks that the file contains certificates.
    ///
    /// - Throws: a usage error that names the option and the file.
    func check() throws {
        guard let file = self.cacert else { return }
        let text = try OptionParsing.naming("--cacert", PipedFile.text(of: file, atMost: AuthorityOptions.maxBytes))
        guard AuthorityOptions.hasCertificate(text) else {
            throw ValidationError("--cacert: \(file) contains no PEM certificate")
        }
    }

    /// True if `text` contains a complete certificate (RFC 7468 5).
    private static func hasCertificate(_ text: String) -> Bool {
        for label in ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"] {
            guard let begin = text.firstRange(of: "-----BEGIN \(label)-----") else { continue }
            if text[begin.upperBound...].firstRange(of: "-----END \(label)-----") != nil { return true }
        }
        return false
    }
}

/// Connections, rate, proxy and TLS.
struct NetworkOptions: ParsableArguments {
    @Option(help: .value("n", "Maximum number of concurrent transfers, per host and in total."))
    var parallel = 6

    @Option(help: .value("rate", "Maximum transfer rate in bytes per second, such as 500k or 2M."))
    var limitRate: String?

    @Option(
        help: .value(
            "rate", "Replace a connection that moves fewer bytes per second than this for --speed-time, such as 50k."))
    var speedLimit: String?

    @Option(help: .value("duration", "How long a connection may be slower than --speed-limit."))
    var speedTime = "10s"

    @OptionGroup var proxies: ProxyOptions

    @OptionGroup var trust: TrustOptions

    /// Bytes per second; nil without a limit.
    func bytesPerSecond() throws -> Int? {
        try self.limitRate.map { try OptionParsing.bytes($0, of: "--limit-rate") }
    }

    /// The lowest rate in bytes per second, nil without one, and how long a transfer may be slower.
    func lowestSpeed() throws -> (rate: Int?, time: Duration) {
        let time = try OptionParsing.positive(self.speedTime, of: "--speed-time")
        let rate = try self.speedLimit.map { try OptionParsing.bytes($0, of: "--speed-limit") }
        if let rate, let limit = try self.bytesPerSecond(), limit < rate {
            throw ValidationError("--speed-limit: \(rate) bytes per second are more than --limit-rate allows")
        }
        return (rate, time)
    }

    func validate() throws {
        _ = try self.lowestSpeed()
        _ = try self.bytesPerSecond()
        guard (1...1000).contains(self.parallel) else {
            throw ValidationError("--parallel: \(self.parallel) is out of range (1 to 1000)")
        }
    }
}

/// `--proxy`, `--proxy-from-environment` and `--noproxy`.
struct ProxyOptions: ParsableArguments {
    @Option(
        help: .value(
            "url", "Proxy to use, as SCHEME://[USER:PASSWORD@]HOST:PORT; http, https, socks4a, socks5 or socks5h."))
    var proxy: String?

    @Flag(help: "Use the proxy from http_proxy, https_proxy, all_proxy and no_proxy.")
    var proxyFromEnvironment = false

    @Option(
        help: .value(
            "hosts",
            "Use no proxy for these hosts, domains and networks, separated by commas, or for any with *; instead of "
                + "no_proxy."))
    var noproxy: String?

    private var exceptions: [String]? { self.noproxy.map(ProxyPolicy.exceptions) }

    func validate() throws {
        try OptionParsing.exclude(
            ("--proxy", self.proxy != nil), ("--proxy-from-environment", self.proxyFromEnvironment))
        _ = try self.proxy.map { try OptionParsing.naming("--proxy", Proxy($0)) }
        try OptionParsing.naming("--noproxy", ProxyPolicy(nil, exceptions: self.exceptions ?? []).checkExceptions())
    }

    /// The proxies that transfers use.
    func policy(environment: [String: String]) throws -> ProxyPolicy {
        guard self.proxyFromEnvironment else { return ProxyPolicy(self.proxy, exceptions: self.exceptions ?? []) }
        let policy = try self.environmentPolicy(environment)
        for (scheme, text) in [(HTTPURL.Scheme.http, policy.http), (.https, policy.https)] {
            guard let text, let name = ProxyPolicy.variable(for: scheme, in: environment) else { continue }
            _ = try OptionParsing.naming(name, Proxy(text))
        }
        return policy
    }

    /// The target through the selected proxy; a proxy that only the environment names is noted.
    func apply(to target: ExplainTarget, environment: [String: String]) throws -> ExplainTarget {
        if let proxy = self.proxy {
            let isException = ProxyPolicy(proxy, exceptions: self.exceptions ?? []).isException(target.target)
            return isException ? target : target.through(try OptionParsing.naming("--proxy", Proxy(proxy)))
        }
        let policy = try self.environmentPolicy(environment)
        guard let url = target.location, let name = ProxyPolicy.variable(for: url.scheme, in: environment),
            let text = environment[name], !policy.isException(url.target)
        else { return target }
        guard self.proxyFromEnvironment else {
            var target = target
            target.unusedProxy = (try? Proxy(text)).map { "\($0)" } ?? name
            return target
        }
        return target.through(try OptionParsing.naming(name, Proxy(text)))
    }

    private func environmentPolicy(_ environment: [String: String]) throws -> ProxyPolicy {
        var policy = ProxyPolicy(environment: environment)
        if let exceptions {
            policy.exceptions = exceptions
        } else if self.proxyFromEnvironment {
            let name = environment["no_proxy"] == nil ? "NO_PROXY" : "no_proxy"
            // Other programs may understand it.
            policy.exceptions = policy.exceptions.filter { text in
                do throws(TextError) { try ProxyPolicy(nil, exceptions: [text]).checkExceptions() } catch {
                    Terminal().printError("tidegate: warning: \(name): \(error)")
                    return false
                }
                return true
            }
        }
        return policy
    }
}
