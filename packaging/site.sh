#!/usr/bin/env bash
# Writes the static site target/site: the laboratory's page, the book, a page for each study, and the JSON Schemas of
# files. Fails if a link between its files has no target: `make site`.
set -euo pipefail
cd "$(dirname "$0")/.."

lanemark=$1
new=target/site.new
rm -rf $new
mkdir -p $new/studies
cp target/page/lanemark.html $new/laboratory.html
cp -r target/book $new/book
python3 packaging/schemas.py $new/schema
list=""
for file in studies/*.toml; do
    name=$(basename "$file" .toml)
    "$lanemark" study "$file" --no-save --html "$new/studies/$name.html" >/dev/null
    title=$(sed -n 's/^title *= *"\(.*\)"/\1/p' "$file" | head -1)
    list+="<li><a href=\"studies/$name.html\">$title</a></li>"$'\n'
done
cat >$new/index.html <<END
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Lanemark</title>
<style>body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }</style>
</head>
<body>
<main>
<h1>Lanemark</h1>
<p>Lanemark predicts the speed of a drive in a port of a machine, and explains which part limits it.</p>
<p><a href="laboratory.html">The laboratory</a> runs in this browser. <a href="book/index.html">The book</a> explains it.</p>
<h2>Studies</h2>
<ul>
$list</ul>
</main>
</body>
</html>
END
python3 packaging/links.py $new
rm -rf target/site
mv $new target/site
echo "target/site/index.html"
