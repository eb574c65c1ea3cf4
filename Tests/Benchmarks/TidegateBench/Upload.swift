import Tidegate

/// A multipart form with small fields and a file, sent once.
struct Upload {
    let url: String
    let file: String
    let fields: Int

    func run() async throws {
        let monitor = try Monitor()
        _ = await monitor.reachability.firstStatus(within: .seconds(5))
        let client = try HTTPClient(session: monitor.session)
        let before = Gets.cpuMicroseconds()
        var form = MultipartForm()
        for number in 0..<self.fields {
            form.append(.data(Array("the value of field \(number)".utf8)), name: "field \(number)")
        }
        form.append(.file(self.file), name: "file")
        let result = try await client.post(self.url, multipart: form)
        let spent = Gets.cpuMicroseconds() - before
        print(["cpuMicroseconds": .number(spent), "sent": .number(Double(result.task.upload.completed))] as JSONValue)
        await monitor.stop()
    }
}
