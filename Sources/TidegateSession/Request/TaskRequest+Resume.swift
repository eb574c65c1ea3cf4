public import HTTPTypes
public import TidegateCore
package import TidegateSerialization
internal import TidegateTransfer

extension TaskRequest {
    /// Has the download continue where an earlier one ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the data belong to another URL or another file,
    ///   are damaged, or the request is not a plain GET of a file.
    public mutating func resume(from data: ResumeData) throws(TaskError) {
        guard case .file(let path, let permissions, _) = self.destination, self.method == "GET", self.body == .none,
            !self.options.acceptsCompression
        else { throw TaskRequest.invalid("only a download by GET can be resumed") }
        guard data.url == self.address.text else {
            throw TaskRequest.invalid("the resume data belong to \(data.url) and not to \(self.address.text)")
        }
        guard data.file == path else {
            throw TaskRequest.invalid("the resume data belong to \(data.file) and not to \(path)")
        }
        guard data.point.isUsable else { throw TaskRequest.invalid("the resume data are damaged") }
        self.destination = .file(path, permissions: permissions, continues: true)
        self.options.resuming = data
    }

    /// The request that continues where an earlier download ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if the data are damaged.
    public init(resuming data: ResumeData, headers: [HTTPField] = []) throws(TaskError) {
        try self.init(url: data.url, headers: headers)
        self.destination = .file(data.file)
        try self.resume(from: data)
    }
}

extension TaskRequest {
    /// The same request of another URL, with a destination of its own.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` if it is no URL of a server.
    package func copy(of url: String, to destination: Destination) throws(TaskError) -> TaskRequest {
        let address = try Self.valid { () throws(HTTPURLError) in try HTTPURL(url, near: self.address) }
        var copy = self
        copy.change { ($0.url, $0.address, $0.destination) = (url, address, destination) }
        return copy
    }

    /// The same request with a form as its body, in place of any other; a form with files is a stream of its own for
    /// each copy.
    ///
    /// - Throws: ``TaskError`` with the reason `fileError` if a file of the form cannot be read.
    package func sending(_ form: MultipartForm) throws(TaskError) -> TaskRequest {
        var request = self
        // Without the form's own boundary nobody can read it.
        request.headers.removeAll { $0.name == .contentType }
        request.headers.append(HTTPField(name: .contentType, value: form.contentType))
        request.body = try RequestBody(form)
        return request
    }

    /// Why the file to send cannot be read, or the destination not written; nil if both can.
    ///
    /// Opens and writes nothing.
    package var fileProblem: String? {
        if let file = self.bodyFile {
            do {
                _ = try FileIdentity.of(file)
            } catch {
                return error.description
            }
        }
        return self.paths?.obstacle()
    }

    /// Where the bytes of a download are until it is complete; nil if it is not written to a file.
    package var temporaryFile: String? { self.paths?.temporary.path }

    /// False if the task is confined to directories and the path is below none of them.
    package func allows(_ path: String) -> Bool { FileLocation(path, below: self.options.confinedTo).isAllowed }

    /// Where the response's body goes; nil if it is not written to a file.
    var paths: DownloadPaths? {
        self.destination.path.map { DownloadPaths(destination: $0, below: self.options.confinedTo) }
    }

    /// The file to send; nil for other bodies.
    var bodyFile: FileLocation? {
        if case .file(let path) = self.body { FileLocation(path, below: self.options.confinedTo) } else { nil }
    }
}
