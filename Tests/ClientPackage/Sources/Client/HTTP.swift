import TidegateHTTP

/// A module that has a session and knows no monitor.
func checkHealth(over session: Session, of server: String) async throws {
    let api = try HTTPClient(baseURL: server, session: session)
    let result = try await api.get("-/healthy")
    try expect(result.response.status == 200, "the health is \(result.response.status)")
}
