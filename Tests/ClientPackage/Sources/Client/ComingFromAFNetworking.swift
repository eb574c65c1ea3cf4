import Foundation
import Tidegate

/// A client with typed calls, as `AFHTTPSessionManager` has them, and what a serializer makes of a response.
func useClient(of monitor: Monitor, to server: URL) async throws {
    struct Status: Decodable, Sendable { var level: String }
    let api = try HTTPClient(
        baseURL: server.appendingPathComponent("api/v1").absoluteString, session: monitor.session)
    let status = try await api.get("status", as: Status.self)
    print("the level is", status.level)

    let result = try await api.get("tasks", parameters: ["limit": 10])
    print(result.response.status, try result.value(from: JSONResponseSerializer<JSONValue>())["total"] ?? "none")
    print(try result.value(from: TextResponseSerializer()).count, "characters")

    var json = JSONResponseSerializer<JSONValue>()
    json.decoder.keyDecodingStrategy = .convertFromSnakeCase
    json.removesNulls = true
    var configuration = HTTPClientConfiguration()
    configuration.responseSerializer = json
    let snake = try HTTPClient(baseURL: server.absoluteString, session: monitor.session, configuration: configuration)
    try expect(try await snake.get("api/v1/status").value() is JSONValue, "the status is not a JSON value")

    do {
        _ = try await api.get("absent", as: Status.self)
        throw Failure(description: "a page that does not exist was answered")
    } catch HTTPClientError.response(let error) {
        print(error, "with", error.response.body.count, "bytes")
        try expect(error.response.status == 404, "a missing page fails as \(error)")
    }
}

/// What `AFHTTPRequestSerializer` and `AFMultipartFormData` write.
func serialize(with monitor: Monitor, to server: URL, in folder: String) throws {
    let api = try HTTPClient(baseURL: server.absoluteString, session: monitor.session)
    try api.headers.set("Accept-Language", to: "en")
    try api.setAuthorization(bearer: "token")
    api.removeAuthorization()

    var encoding = QueryEncoding()
    encoding.arrays = .noBrackets
    let query = try encoding.query(of: ["tags": ["a", "b"]])
    try expect(query == "tags=a&tags=b", "the query is \(query)")

    var latin = FormRequestSerializer()
    latin.charset = .latin1
    var order = SerializedRequest(method: "POST", url: server.absoluteString)
    try latin.serialize(["city": "Köln"], into: &order)
    guard case .data(let bytes) = order.body else { throw Failure(description: "a form has no bytes") }
    try expect(bytes == Array("city=K%F6ln".utf8), "the form is \(bytes)")

    let file = "\(folder)/notes.txt"
    try Data("notes".utf8).write(to: URL(fileURLWithPath: file))
    var form = MultipartForm()
    try form.append(parameters: ["title": "notes"])
    form.append(.file(file), name: "file")
    let upload = SerializedRequest(method: "POST", url: server.absoluteString, body: .multipart(form))
    let request = try TaskRequest(upload, compressing: true)
    try expect(request.method == "POST", "a form is sent with \(request.method)")
}

/// A completion handler for callers that are not asynchronous.
func callBack(from monitor: Monitor, to server: URL) async throws {
    let api = try HTTPClient(baseURL: server.absoluteString, session: monitor.session)
    let bytes = await withCheckedContinuation { waiter in
        api.get("api/v1/status") { result in
            waiter.resume(returning: (try? result.get().body.count) ?? 0)
        }
    }
    try expect(bytes > 0, "the handler was called without a body")
}

/// Tasks whose answers choose their files, several as one, and the hooks and events that tell of them.
func manageTasks(of monitor: Monitor, to server: URL, in folder: String) async throws {
    let hooks = SessionHooks(disposition: { _, response in
        .download(to: "\(folder)/\(response.suggestedFileName ?? "report")")
    })
    let request = try TaskRequest(url: server.appendingPathComponent("metrics").absoluteString)
    let report = monitor.session.makeTask(request, options: TaskOptions(hooks: hooks))
    let page = monitor.session.makeTask(try TaskRequest(url: server.absoluteString)) { task, result in
        print(task.id, result.outcome)
    }
    let group = TransferGroup([report, page])
    group.resume()
    for result in await group.results() { print(result.file ?? "no file", result.bytes) }
    print(report.download.completed, "of", report.download.total ?? 0)
    let file = await report.result().file ?? ""
    try expect(file.hasPrefix(folder), "the report is in \(file)")
    try expect(FileManager.default.fileExists(atPath: file), "there is no file at \(file)")
}

/// What notifications are here.
func followEvents(of monitor: Monitor, to server: URL) async throws {
    let events = monitor.session.events()
    _ = try await monitor.session.data(for: server)
    for await event in events where event.name == "task.completed" {
        print(event.time, event.sentence)
        break
    }
}

/// A monitor whose session trusts one key of a host, over TLS 1.3, and follows redirects to https only.
func trustOneKey(_ server: URL) async throws {
    let pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    var configuration = MonitorConfiguration()
    configuration.session.maxConnectionsPerHost = 4
    configuration.session.tls = ServerTrustPolicy(pins: ["api.example.com": [pin]])
    configuration.hooks = SessionHooks(
        redirect: { _, _, redirect in redirect.url.hasPrefix("https:") ? .follow : .stop },
        evaluateServerTrust: { trust in
            trust.tls.version == "TLSv1.3" ? .verified : .refused("it does not speak TLS 1.3")
        })
    let pinned = try Monitor(configuration)
    let (_, response) = try await pinned.session.data(for: server)
    try expect(response.status == 200, "a server without TLS was answered with \(response.status)")
    await pinned.stop()
}

/// A monitor whose session asks whether what it has stored is still the same.
func askForChanges(_ server: URL, in folder: String) async throws {
    var conditional = MonitorConfiguration()
    conditional.session.validators = try ValidatorStore(directory: "\(folder)/responses")
    let asking = try Monitor(conditional)
    for _ in 1...2 {
        let (page, response) = try await asking.session.data(for: server)
        try expect(response.status == 200 && !page.isEmpty, "the page came with \(response.status)")
    }
    await asking.stop()
}

/// What a view would show of reachability and of activity.
func showState(of monitor: Monitor) throws {
    let watch = monitor.watchStatus { verdict in print("the level is", verdict.level) }
    watch.stop()
    watch.start()
    try expect(watch.isRunning, "a watch that was started again does not run")

    let indicator = ActivityIndicator(monitor.session, startDelay: .seconds(1), endDelay: .milliseconds(170))
    print(indicator.isActive ? "busy" : "idle")
    try expect(!indicator.isActive, "the indicator is on before a second has passed")
}
