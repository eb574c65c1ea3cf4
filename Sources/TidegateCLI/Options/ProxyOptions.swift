internal import ArgumentParser
internal import Tidegate

/// `--proxy`, `--proxy-from-environment` and `--noproxy`.
struct ProxyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Proxy to use, as SCHEME://[USER:PASSWORD@]HOST:PORT; http, https, socks4a, socks5 or socks5h.",
            valueName: "url"))
    var proxy: String?

    @Flag(help: "Use the proxy that http_proxy, https_proxy, all_proxy and no_proxy name.")
    var proxyFromEnvironment = false

    @Option(
        help: ArgumentHelp(
            "Use no proxy for these hosts, domains and networks, separated by commas, or for any with *; instead of "
                + "no_proxy.", valueName: "hosts"))
    var noproxy: String?

    private var exceptions: [String]? { self.noproxy.map(ProxyPolicy.exceptions) }

    func validate() throws {
        try OptionParsing.exclude(
            ("--proxy", self.proxy != nil), ("--proxy-from-environment", self.proxyFromEnvironment))
        _ = try self.proxy.map { try OptionParsing.naming("--proxy", Proxy($0)) }
    }

    /// The proxies of transfers.
    func policy(environment: [String: String]) throws -> ProxyPolicy {
        guard self.proxyFromEnvironment else { return ProxyPolicy(self.proxy, exceptions: self.exceptions ?? []) }
        let policy = self.environmentPolicy(environment)
        for (scheme, text) in [(HTTPURL.Scheme.http, policy.http), (.https, policy.https)] {
            guard let text, let name = ProxyPolicy.variable(for: scheme, in: environment) else { continue }
            _ = try OptionParsing.naming(name, Proxy(text))
        }
        return policy
    }

    /// The target through the proxy that the options ask for; one that only the environment names is noted.
    func apply(to target: ExplainTarget, environment: [String: String]) throws -> ExplainTarget {
        if let proxy = self.proxy {
            let isException = ProxyPolicy(proxy, exceptions: self.exceptions ?? []).isException(target.target)
            return isException ? target : target.through(try OptionParsing.naming("--proxy", Proxy(proxy)))
        }
        let policy = self.environmentPolicy(environment)
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

    private func environmentPolicy(_ environment: [String: String]) -> ProxyPolicy {
        var policy = ProxyPolicy(environment: environment)
        if let exceptions { policy.exceptions = exceptions }
        return policy
    }
}
