internal import HTTPTypes
internal import Hummingbird
internal import TidegateCore
internal import TidegateMetrics

/// The exposition, in the format and the encoding that the client asks for.
struct MetricsRoute: Sendable {
    // Names may be looked up in vain; Prometheus waits 10 seconds for a response.
    private static let firstStatusLimit = Duration.seconds(2)

    let dependencies: EndpointRoutes.Dependencies
    private let scrapes = ResponseCoalescer<Scrape>()

    /// What has to be equal to share an exposition.
    private struct Scrape: Hashable {
        let format: ExpositionFormat
        let names: [String]
        let isCompressed: Bool
    }

    func respond(to request: Request, context: ServerContext) async -> Response {
        // A level of unknown in the first scrape would look like a failure at every start.
        await self.dependencies.view.waitForFirstStatus(within: MetricsRoute.firstStatusLimit)
        let key = Scrape(
            format: ContentNegotiation.format(accept: request.headers.list(.accept)),
            names: QueryParameters(target: request.head.path ?? "").values(of: "name[]"),
            isCompressed: Gzip.isAccepted(by: request.headers.list(.acceptEncoding)))
        let body = await self.scrapes.body(key) { self.exposition(key, inFlight: context.source.inFlight) }
        var headers: HTTPFields = [.contentType: key.format.contentType, .vary: "Accept, Accept-Encoding"]
        // No exposition begins like this, so the body itself says whether it was compressed.
        if body.starts(with: Gzip.magic) { headers[.contentEncoding] = "gzip" }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    // Compressed here and not by a middleware: concurrent scrapes share the compressed body, too.
    private func exposition(_ key: Scrape, inFlight: Int) -> [UInt8] {
        let body = self.dependencies.recorder.exposition(
            of: self.inputs(inFlight: inFlight), in: key.format, choice: FamilyChoice(names: key.names))
        return key.isCompressed ? Gzip.compress(body) ?? body : body
    }

    /// The samples that a scrape would return now.
    func samples(inFlight: Int) -> [MetricSample] {
        self.dependencies.recorder.samples(of: self.inputs(inFlight: inFlight))
    }

    private func inputs(inFlight: Int) -> ScrapeInputs {
        ScrapeInputs(
            of: self.dependencies.view, bus: self.dependencies.bus, time: self.dependencies.time,
            targetNames: self.dependencies.configuration.targetNames, streams: self.dependencies.history.statistics,
            requestsInFlight: inFlight)
    }
}
