public import HTTPTypes
public import TidegateCore

extension TaskRequest {
    /// Makes the download go on where an earlier one ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` where the data belong to another URL or another file,
    ///   make no sense, or the request is no plain GET of a file.
    public mutating func resume(from data: ResumeData) throws(TaskError) {
        guard case .file(let path, let permissions, _) = self.destination, self.method == "GET", self.body == .none,
            !self.acceptsCompression
        else { throw TaskRequest.invalid("only a download by GET can be resumed") }
        guard data.url == self.address.text else {
            throw TaskRequest.invalid("the resume data belong to \(data.url) and not to \(self.address.text)")
        }
        guard data.file == path else {
            throw TaskRequest.invalid("the resume data belong to \(data.file) and not to \(path)")
        }
        guard data.point.isUsable else { throw TaskRequest.invalid("the resume data make no sense") }
        self.destination = .file(path, permissions: permissions, continues: true)
        self.resuming = data
    }

    /// The request that goes on where an earlier download ended.
    ///
    /// - Throws: ``TaskError`` with the reason `invalidRequest` where the data make no sense.
    public init(resuming data: ResumeData, headers: [HTTPField] = []) throws(TaskError) {
        try self.init(url: data.url, headers: headers)
        self.destination = .file(data.file)
        try self.resume(from: data)
    }
}
