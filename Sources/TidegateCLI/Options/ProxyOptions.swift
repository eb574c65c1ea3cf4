internal import ArgumentParser
internal import Tidegate
internal import TidegateCore

/// `--proxy` and `--proxy-from-environment`.
struct ProxyOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Proxy to use, as http://HOST:PORT.", valueName: "url"))
    var proxy: String?

    @Flag(help: "Use the proxy that http_proxy, https_proxy, all_proxy and no_proxy name.")
    var proxyFromEnvironment = false

    func validate() throws {
        if self.proxy != nil, self.proxyFromEnvironment {
            throw ValidationError("--proxy and --proxy-from-environment are mutually exclusive")
        }
        _ = try self.proxy.map { try Self.parse($0, of: "--proxy") }
    }

    /// The target through the proxy that the options ask for; one that only the environment names is noted.
    func apply(to target: ExplainTarget, environment: ProxyEnvironment) throws -> ExplainTarget {
        if let proxy = self.proxy { return target.through(try Self.parse(proxy, of: "--proxy")) }
        guard let url = target.givenURL, let (variable, text) = environment.proxy(for: url) else { return target }
        guard self.proxyFromEnvironment else {
            var target = target
            // A password in it is nobody's business.
            target.unusedProxy = (try? HTTPURL(text)).map { "\($0.origin)" } ?? variable
            return target
        }
        return target.through(try Self.parse(text, of: variable))
    }

    private static func parse(_ text: String, of name: String) throws -> HTTPURL {
        do {
            let url = try HTTPURL(text.contains("://") ? text : "http://\(text)")
            guard url.scheme == .http else { throw TextError("only http proxies are supported") }
            return url
        } catch {
            throw ValidationError("\(name): \(error)")
        }
    }
}

/// The proxies that an environment names, as curl(1) reads it.
struct ProxyEnvironment {
    private let variable: (String) -> String?

    /// The environment by its variables.
    init(variable: @escaping (String) -> String?) { self.variable = variable }

    /// The proxy for a URL and the variable that names it; nil if none is to be used.
    ///
    /// `HTTP_PROXY` in capital letters does not count: a CGI server sets it from a request's header.
    func proxy(for url: HTTPURL) -> (variable: String, text: String)? {
        guard !self.isExcepted(url.target.host) else { return nil }
        let own = url.scheme == .https ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        for name in own + ["all_proxy", "ALL_PROXY"] {
            if let text = self.variable(name), !text.isEmpty { return (name, text) }
        }
        return nil
    }

    private func isExcepted(_ host: String) -> Bool {
        let list = self.variable("no_proxy") ?? self.variable("NO_PROXY") ?? ""
        return list.split { $0 == "," || $0 == " " }.contains { entry in
            let domain = entry.hasPrefix(".") ? entry.dropFirst() : entry
            let name = (try? Target(String(domain)).host) ?? domain.lowercased()
            return name == "*" || host == name || host.hasSuffix("." + name)
        }
    }
}
