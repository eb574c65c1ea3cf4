internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import TidegateCore
internal import TidegateMetrics

/// `/probe`, `/config` and `/logs`, as in blackbox_exporter.
struct ProbeRoutes: Sendable {
    private static let timeoutHeader = HTTPField.Name("X-Prometheus-Scrape-Timeout-Seconds")

    let service: any ProbeService

    /// Performs a probe and returns its metrics, or with `debug=true` its log; the status is always 200.
    func probe(_ request: Request, _ context: ServerContext) async -> Response {
        guard self.service.hasModules else { return Self.unconfigured }
        guard request.head.isOfThisSite else {
            return .text(
                "A page of another site sent this request, and may not probe: open the address yourself, or use "
                    + "another program than a browser", status: .forbidden)
        }
        guard !request.head.hidesPage else {
            return .text(
                "A browser (Accept-Language) sent this request without the page that it comes from, which may be another "
                    + "site's: use a loopback address, https or another program", status: .forbidden)
        }
        let parameters = QueryParameters(target: request.head.path ?? "")
        let module = parameters.values(of: "module").first.flatMap { $0.isEmpty ? nil : $0 }
        let question = ProbeQuestion(
            module: module ?? "http_2xx", target: Self.decoded(parameters.values(of: "target").first ?? ""),
            hostname: parameters.values(of: "hostname").first,
            scrapeTimeout: Self.timeoutHeader.flatMap { request.headers[$0] },
            isTrusted: Self.isTrusted(
                request.head, isAuthenticated: context.isAuthenticated,
                isLocal: context.isFromLoopback && !request.head.isForwarded))
        do throws(ProbeRefusal) {
            let report = try await self.service.probe(question)
            guard parameters.values(of: "debug").first != "true" else {
                return .content(ByteBuffer(string: report.debugText))
            }
            let metrics = ByteBuffer(bytes: ProbeExposition.text(report.families))
            return .content(metrics, type: ProbeExposition.contentType)
        } catch {
            return error.response
        }
    }

    // Browsers send more header fields than other programs, and scripts on a page cannot remove Accept-Language. A
    // browser adds a cached password to the requests of any site's pages, so a password alone does not prove who made
    // the page.
    static func isTrusted(_ head: HTTPRequest, isAuthenticated: Bool, isLocal: Bool) -> Bool {
        let fields = head.headerFields
        let site = HTTPField.Name("Sec-Fetch-Site").flatMap { fields[$0] }
        guard site == nil, ![.origin, .referer, .acceptLanguage].contains(where: { fields[$0] != nil }) else {
            return isAuthenticated && head.isOfThisSite && ["none", "same-origin"].contains(site)
        }
        return isAuthenticated || isLocal || self.timeoutHeader.map { fields[$0] != nil } ?? false
    }

    // Some clients encode a target twice: an encoded colon before the first slash can only come from that.
    private static func decoded(_ target: String) -> String {
        guard target.utf8.contains(UInt8(ascii: "%")),
            target.prefix(while: { $0 != "/" }).lowercased().contains("%3a")
        else { return target }
        return String(decoding: PercentEncoding.decode(target), as: UTF8.self)
    }

    /// The modules, without secrets.
    func configuration() -> Response {
        self.service.hasModules ? .content(ByteBuffer(string: self.service.modules)) : Self.unconfigured
    }

    /// The debug text of an earlier probe: by `id`, or the latest of a `target`, optionally of one `module`.
    func logs(_ request: Request) -> Response {
        guard self.service.hasModules else { return Self.unconfigured }
        let parameters = QueryParameters(target: request.head.path ?? "")
        let (id, target) = (parameters.values(of: "id").first, parameters.values(of: "target").first)
        let module = parameters.values(of: "module").first
        let report: ProbeReport?
        switch (id, target) {
        case (let id?, nil) where module == nil:
            guard let number = UInt64(id) else { return .text("Invalid log ID \"\(id)\"", status: .badRequest) }
            report = self.service.history.first { $0.number == number }
        case (nil, let target?):
            report = self.service.history.first { $0.target == target && (module == nil || $0.module == module) }
        default:
            return .text("Either id, or target with or without module, has to be given", status: .badRequest)
        }
        guard let report else { return .text("No such probe is remembered", status: .notFound) }
        return .content(ByteBuffer(string: report.debugText))
    }

    private static var unconfigured: Response {
        .text("No modules are configured: add modules to the configuration file of tidegate serve.", status: .notFound)
    }
}

extension HTTPRequest {
    /// True if a proxy passed the request on (RFC 9110 7.6.3, RFC 7239): its client may be anywhere.
    fileprivate var isForwarded: Bool {
        ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via"].compactMap { HTTPField.Name($0) }
            .contains { self.headerFields[$0] != nil }
    }

    /// True if a browser sent the request over plain http to another host, and its page asks for no Referer.
    fileprivate var hidesPage: Bool {
        let names = [.origin, .referer] + [HTTPField.Name("Sec-Fetch-Site")].compactMap { $0 }
        // No browser accepts any language; some libraries do.
        return ![nil, "*"].contains(self.headerFields[.acceptLanguage])
            && !names.contains { self.headerFields[$0] != nil }
    }
}

extension ProbeReport {
    /// The log, the metrics and the module, in the format of blackbox_exporter.
    package var debugText: String {
        let log = self.log.lines.map { $0 + "\n" }.joined()
        let metrics = String(decoding: ProbeExposition.text(self.families), as: UTF8.self)
        return "Logs for the probe:\n\(log)\n\n\nMetrics that would have been returned:\n\(metrics)\n\n\n"
            + "Module configuration:\n\(self.configuration)"
    }
}

extension ProbeRefusal {
    /// The refusal in blackbox_exporter's words.
    fileprivate var response: Response {
        switch self {
        case .unknownModule(let name): .text("Unknown module \(JSONValue.string(name))", status: .badRequest)
        case .badTimeout(let text):
            .text(
                "Failed to parse timeout from Prometheus header: \(JSONValue.string(text)) is not a number of seconds",
                status: .internalServerError)
        case .missingTarget: .text("Target parameter is missing", status: .badRequest)
        case .invalidHostname(let name): .text("\(JSONValue.string(name)) is not a host name", status: .badRequest)
        case .credentials(let module):
            .text(
                "Module \(JSONValue.string(module)) has credentials: list the hosts that may get them in "
                    + "probe_credentials, or send the request from Prometheus, with a password, or from a local program",
                status: .forbidden)
        case .tooMany(let limit):
            .text("\(limit) probes are running, and no more run at a time", status: .serviceUnavailable)
        case .hostnameConflict(let module, let parameter):
            .text(
                "host header defined both in module configuration (\(module)) and with URL-parameter 'hostname' "
                    + "(\(parameter))", status: .badRequest)
        }
    }
}
