internal import TidegateTransfer

extension SessionLoop {
    /// Lets the disk begin with what has come of a download: what is written at its end is waited for.
    func beginWriteBack(_ record: TaskRecord) {
        guard let file = record.file, let progress = record.attempt?.progress,
            let range = file.takeWriteBack(upTo: progress.offset + progress.received)
        else { return }
        // Where the thread is stopping there is no hurry any more.
        self.surroundings.disk.perform {
            file.beginWriteBack(range)
        } completion: { _ in
        }
    }
}
