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
