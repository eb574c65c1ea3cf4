internal import Tidegate
internal import TidegateCore

extension TransferTask {
    /// The request, and what came of it, as text; `keptBody` is what the daemon keeps of the response's body.
    func export(as format: ExportFormat, showingSecrets: Bool, keptBody: [UInt8]?) -> String {
        switch format {
        case .curl: self.curlCommand(showingSecrets: showingSecrets).line
        case .har:
            self.archive(
                showingSecrets: showingSecrets, creator: ("tidegate", TidegateVersion.version), keptBody: keptBody
            ).text
        }
    }
}

extension JournaledTaskSummary {
    /// What is left of the request of a task that ended earlier, as text.
    func export(as format: ExportFormat) -> String {
        let note = "the query, the header fields and the body are not kept any more"
        switch format {
        case .curl: return CurlCommand(method: self.method, url: self.url, notes: [note]).line
        case .har:
            let exchange = Exchange(
                number: max(1, self.end?.attempts ?? 1), method: self.method, url: self.url, started: self.accepted,
                lines: [.init(.note, note)], failure: self.end?.failure, status: self.end?.status)
            return HTTPArchive([exchange], creator: ("tidegate", TidegateVersion.version)).text
        }
    }
}
